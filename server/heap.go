package server

import "os"

// heapReserve is the size of the reserve, in bytes of address space.
const heapReserve = 64 << 20

// reserve is never touched, so it takes no physical memory.
var reserve []byte

// ReserveHeap lets the process collect garbage in larger steps, for a program that only serves. The collector runs
// each time the heap has doubled. A server's heap of a few megabytes would double many times a second, which costs up
// to a sixth of its processor time. The reserve counts as heap, so about that much more garbage may wait for
// collection; the amount does not grow with the heap. When GOGC is set, ReserveHeap does nothing.
func ReserveHeap() {
	if os.Getenv("GOGC") == "" && reserve == nil {
		reserve = make([]byte, heapReserve)
	}
}
