package openintent

import (
	"context"
	"errors"
	"sync"
	"time"

	"openintent/sdk/go/internal/pace"
)

// hold is what a lease and a claim have in common: they last for a time, and renew themselves until they end.
type hold struct {
	duration time.Duration
	pace     *pace.Pace
	ctx      context.Context
	end      context.CancelCauseFunc
	renewing sync.WaitGroup
}

// errOver is what a renewal returns when there is nothing left to hold, though nothing was lost.
var errOver = errors.New("it is over")

// keep renews the hold three times in its duration, counted from when it was asked for. If it cannot be renewed until it may be
// over, counted from before the last renewal that succeeded, its context ends with the cause lost. The renewal calls now before
// each of its attempts.
func (h *hold) keep(ctx context.Context, asked time.Time, lost error, renewal func(ctx context.Context, now func()) error) {
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	work := h.pace.Work()
	work.Plan(asked.Add(h.duration / 3)) // a test may move the time before the goroutine runs
	h.renewing.Go(func() {
		defer work.End()
		for work.Until(h.ctx, asked.Add(h.duration/3)) == nil {
			ctx, cancel := context.WithTimeout(h.ctx, asked.Add(h.duration).Sub(h.pace.Now()))
			next := asked
			err := renewal(ctx, func() { next = h.pace.Now() })
			cancel()
			switch {
			case errors.Is(err, errOver):
				return
			case err != nil:
				h.end(errors.Join(lost, err))
				return
			}
			asked = next
		}
	})
}

// letGo ends the renewing, before the hold is given back.
func (h *hold) letGo() {
	h.end(nil)
	h.renewing.Wait()
}

// seconds returns the duration as calls have it.
func (h *hold) seconds() *int32 {
	seconds := int32(h.duration / time.Second)
	return &seconds
}
