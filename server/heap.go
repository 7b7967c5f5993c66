package server

import "os"

// heapReserve is what is set aside, in bytes of address space.
const heapReserve = 64 << 20

// reserve is never touched, so it takes no memory of the machine.
var reserve []byte

// ReserveHeap lets the process collect garbage in larger steps, for a program that does nothing but serve. The collector runs
// each time the heap has doubled; a server's few megabytes would double many times a second, at up to a sixth of its
// processor time. What is set aside counts as heap, so up to as much again may wait for collection, and no more however
// large the heap grows. GOGC, when it is set, is left to have its way.
func ReserveHeap() {
	if os.Getenv("GOGC") == "" && reserve == nil {
		reserve = make([]byte, heapReserve)
	}
}
