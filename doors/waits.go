package doors

import "context"

// Waits counts what waits for the caller of a request.
type Waits interface {
	// Begin counts a wait, or refuses it when the caller has as many as it may. What the door calls with the context that it
	// returns belongs to this wait. end must be called once the wait is over, unless there is an error.
	Begin(ctx context.Context) (waiting context.Context, end func(), _ error)
}

type waitsKey struct{}

// WithWaits returns the context of a request whose waits are counted.
func WithWaits(ctx context.Context, waits Waits) context.Context {
	return context.WithValue(ctx, waitsKey{}, waits)
}

// WaitsOf returns who counts a request's waits. Without anybody, the contract counts the calls that wait by itself.
func WaitsOf(ctx context.Context) Waits {
	if waits, counted := ctx.Value(waitsKey{}).(Waits); counted {
		return waits
	}
	return uncountedWaits{}
}

type uncountedWaits struct{}

func (uncountedWaits) Begin(ctx context.Context) (context.Context, func(), error) {
	return ctx, func() {}, nil
}
