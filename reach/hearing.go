package reach

import (
	"context"
	"sync"
)

// Hearing is who calls and how, for what a call hears.
type Hearing struct {
	// Here keeps the paths of this replica.
	Here *Here
	// Agent is the calling agent.
	Agent string
	// Asked is true for a call on a connection that is asked whether its other end is there.
	Asked bool
	// Probe hands a probe to the other end of the call, and reports whether that confirms it. Otherwise the agent confirms it by a call. It is
	// nil for a call that can be handed none. It may be set until the call opens its path.
	Probe func(id string) (confirmed bool, err error)
	// Wakes is true for a call of `openintent wake`, which opens no other path.
	Wakes bool
}

type hearingKey struct{}

// WithHearing returns the context of a call that may hear.
func WithHearing(ctx context.Context, hearing *Hearing) context.Context {
	return context.WithValue(ctx, hearingKey{}, hearing)
}

// Unheard returns a context in which nothing opens a path, also not with a Hearing, for what a path of another kind calls.
func Unheard(ctx context.Context) context.Context { return context.WithValue(ctx, unheardKey{}, true) }

type unheardKey struct{}

// hearingOf returns who calls with a context, and how; nil if nothing opens a path with it.
func hearingOf(ctx context.Context) *Hearing {
	hearing, _ := ctx.Value(hearingKey{}).(*Hearing)
	if hearing == nil || hearing.Here == nil || ctx.Value(unheardKey{}) != nil {
		return nil
	}
	return hearing
}

// Hear opens a path of the calling agent, as long as end was not called. A call whose caller is no agent, or is a `wake`, opens none.
func Hear(ctx context.Context, kind Kind) (end func()) {
	hearing := hearingOf(ctx)
	if hearing == nil || hearing.Wakes {
		return func() {}
	}
	o := opening{hearing, kind}
	hearing.Here.opens(o)
	return sync.OnceFunc(func() { hearing.Here.closes(o) })
}

// TakesProbes notes that the call with this context can be handed probes. It must be called before the call opens its path.
func TakesProbes(ctx context.Context, probe func(id string) (confirmed bool, err error)) {
	if hearing := hearingOf(ctx); hearing != nil {
		hearing.Probe = probe
	}
}

// HearsFor reports whether the calling agent of a context is this one. A stream of another agent's messages is no path to that agent.
func HearsFor(ctx context.Context, agent string) bool {
	hearing := hearingOf(ctx)
	return hearing != nil && hearing.Agent == agent
}
