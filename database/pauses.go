package database

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// firstPause is the first pause before another attempt. Each further one is twice as long, up to a bound.
	firstPause = 5 * time.Millisecond
	// longestRetryPause bounds the pauses of Write.
	longestRetryPause = 250 * time.Millisecond
	// longestPause bounds the pauses between attempts to make a lost connection anew. The first attempt comes at once.
	longestPause = 5 * time.Second
)

// growingPauses are the pauses up to a bound. Each differs by up to a half of itself, so that those who stood in each
// other's way do not meet again.
func growingPauses(longest time.Duration) backoff.ExponentialBackOff {
	return backoff.ExponentialBackOff{
		InitialInterval: firstPause, Multiplier: 2, MaxInterval: longest, RandomizationFactor: 0.5,
	}
}

// pause waits, and tells whether the context lasted as long.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reconnecting paces the attempts to make a lost connection anew.
type reconnecting struct {
	failed bool // since the connection last worked
	pauses backoff.ExponentialBackOff
}

// worked notes that the connection worked: when it is lost again, the first attempt comes at once.
func (r *reconnecting) worked() { r.failed = false }

// wait waits before the next attempt, or until the context ends.
func (r *reconnecting) wait(ctx context.Context) {
	if !r.failed {
		r.failed, r.pauses = true, growingPauses(longestPause)
		return
	}
	pause(ctx, r.pauses.NextBackOff())
}
