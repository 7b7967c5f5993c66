package doors

import "context"

// Paths notes how the caller of a request hears of messages.
type Paths interface {
	// Open notes that the caller hears by a path of this kind as long as end was not called: `c2a` or `listen`. A wait is noted by Waits. lives
	// asks the caller whether it is there, and returns once it has answered; nil if it cannot be asked.
	Open(kind string, lives func(ctx context.Context) error) (end func())
}

type pathsKey struct{}

// WithPaths returns the context of a request whose caller's paths are noted.
func WithPaths(ctx context.Context, paths Paths) context.Context {
	return context.WithValue(ctx, pathsKey{}, paths)
}

// OpenPath notes that the caller of a request hears, if anybody wants to know.
func OpenPath(ctx context.Context, kind string, lives func(ctx context.Context) error) (end func()) {
	if paths, noted := ctx.Value(pathsKey{}).(Paths); noted {
		return paths.Open(kind, lives)
	}
	return func() {}
}
