package doors

import "context"

// Memory counts the bytes that a caller's requests and answers take in a door.
type Memory interface {
	// Hold counts bytes that the caller has sent, where what it sends has not arrived in full; a negative number gives them back. It reports
	// whether everything is within the caller's bounds.
	Hold(bytes int64) (within bool)
	// HoldAnswer counts bytes that the caller has not read yet; a negative number gives them back. While too many are counted, the caller's
	// next requests are refused.
	HoldAnswer(bytes int64)
	// Account returns what is the same for all requests whose bytes are counted together, and comparable; nil if nothing is counted.
	Account() any
}

type memoryKey struct{}

// WithMemory returns the context of a request whose memory is counted.
func WithMemory(ctx context.Context, memory Memory) context.Context {
	return context.WithValue(ctx, memoryKey{}, memory)
}

// MemoryOf returns who counts a request's memory. Without anybody, nothing is counted.
func MemoryOf(ctx context.Context) Memory {
	if memory, counted := ctx.Value(memoryKey{}).(Memory); counted {
		return memory
	}
	return uncounted{}
}

type uncounted struct{}

func (uncounted) Hold(int64) bool  { return true }
func (uncounted) HoldAnswer(int64) {}
func (uncounted) Account() any     { return nil }
