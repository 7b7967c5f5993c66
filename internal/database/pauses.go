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
	// longestPause bounds the pauses between attempts to replace a lost connection. The first attempt comes immediately.
	longestPause = time.Second
)

// growingPauses returns pauses that grow up to a bound. Each varies randomly by up to half of its length, so that transactions
// that conflicted do not meet again.
func growingPauses(longest time.Duration) backoff.ExponentialBackOff {
	return backoff.ExponentialBackOff{
		InitialInterval: firstPause, Multiplier: 2, MaxInterval: longest, RandomizationFactor: 0.5,
	}
}

// pause waits, and returns false if the context ended first.
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

// reconnecting paces the attempts to replace a lost connection.
type reconnecting struct {
	failed bool // true if an attempt has failed since the connection last worked
	pauses backoff.ExponentialBackOff
}

// worked notes that the connection worked. If it is lost again, the first attempt comes immediately.
func (r *reconnecting) worked() { r.failed = false }

// wait waits before the next attempt, or until the context ends.
func (r *reconnecting) wait(ctx context.Context) {
	if !r.failed {
		r.failed, r.pauses = true, growingPauses(longestPause)
		return
	}
	pause(ctx, r.pauses.NextBackOff())
}
