package server

import (
	"context"

	"openintent/internal/caller"
	"openintent/reach"
)

// wakeHeader marks the calls of `openintent wake`.
const wakeHeader = "x-openintent-wake"

// hear notes that a call came in the name of an agent, and returns the context of the call, which opens a path if the call can hear. What a
// door calls opens none: the door says itself how its caller hears.
func (i *interceptors) hear(ctx context.Context, call *call, who caller.Caller, account *account) context.Context {
	if i.here == nil || who.IsOperator {
		return ctx
	}
	now := i.here.Now()
	if entry := account.heard.Load(); !entry.Note(who.Agent, now) {
		entry = i.here.Of(who.Agent)
		entry.Note(who.Agent, now)
		account.heard.Store(entry)
	}
	wakes := len(call.headers[wakeHeader]) > 0
	if wakes {
		i.here.Woken(who.Agent, now)
	}
	if !call.method.hears {
		return ctx
	}
	return reach.WithHearing(ctx, &reach.Hearing{Here: i.here, Agent: who.Agent, Asked: call.wire != nil, Wakes: wakes})
}

// doorPaths opens paths to the caller of a door.
type doorPaths struct {
	here  *reach.Here
	agent string
}

// Open notes that the caller hears in this way as long as end was not called. What the door calls meanwhile opens no other path. lives asks the
// caller whether it is there; nil if it cannot be asked.
func (d doorPaths) Open(kind string, lives func(ctx context.Context) error) (end func()) {
	hearing := &reach.Hearing{Here: d.here, Agent: d.agent, Asked: lives != nil}
	if lives != nil {
		hearing.Probe = func(string) (confirmed bool, err error) {
			ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
			defer cancel()
			return true, lives(ctx)
		}
	}
	return reach.Hear(reach.WithHearing(context.Background(), hearing), reach.Kind(kind))
}
