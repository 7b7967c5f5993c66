package server

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// heapReserve is how much garbage may at least wait for collection, in bytes.
const heapReserve = 64 << 20

// mostPercent bounds the growth of a tiny heap, so that one that fills quickly is collected in time.
const mostPercent = 1600

// ReserveHeap lets the process collect garbage in larger steps while its heap is small, for a program that only serves. Go collects each
// time the heap has doubled. A server's heap of a few megabytes would double many times a second, which costs up to a sixth of its
// processor time. So it may grow by heapReserve at least. A larger heap doubles as usual. When GOGC is set, ReserveHeap does nothing.
func ReserveHeap() {
	if os.Getenv("GOGC") == "" {
		new(reserve).followCollections()
	}
}

// reserve sets after each collection by how many percent the heap may grow until the next one.
type reserve struct{ percent int }

// followCollections adjusts now, and after each collection: that finds a value to which nothing refers any more.
func (r *reserve) followCollections() {
	if percent := percentFor(heapBase()); percent*5 < r.percent*4 || percent*4 > r.percent*5 { // each change stops the process for a moment
		r.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([16]byte), (*reserve).followCollections, r)
}

// heapBase returns of how many bytes Go takes the percentage: what was live at the last collection, the stacks, and the globals.
func heapBase() (bytes uint64) {
	samples := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	runtimemetrics.Read(samples)
	for _, sample := range samples {
		bytes += sample.Value.Uint64()
	}
	return bytes
}

// percentFor returns by how many percent of so many bytes the heap may grow.
func percentFor(base uint64) int {
	return min(max(100, int(heapReserve*100/max(1, base))), mostPercent)
}
