package doors

import "context"

// Memory counts the bytes that what a caller has sent, and what has not arrived in full, takes in a door.
type Memory interface {
	// Hold counts bytes; a negative number gives them back. It reports whether everything is within the caller's bounds.
	Hold(bytes int64) (within bool)
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

func (uncounted) Hold(int64) bool { return true }
