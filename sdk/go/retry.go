package openintent

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// waits produces the pauses between attempts: 100 ms doubling to 5 s, each randomly between half and the whole of
// that, and never less than the server asked for.
type waits struct{ growing *backoff.ExponentialBackOff }

func newWaits() *waits {
	// The library draws between (1 - f) and (1 + f) of an interval; with f = 1/3, applied to 3/4 of the pause, that
	// is half to the whole.
	return &waits{&backoff.ExponentialBackOff{
		InitialInterval: firstWait * 3 / 4, Multiplier: 2, MaxInterval: longestWait * 3 / 4, RandomizationFactor: 1.0 / 3,
	}}
}

// next returns how long to wait after an error.
func (w *waits) next(err error) time.Duration {
	wait := w.growing.NextBackOff()
	var e *Error
	if errors.As(err, &e) {
		wait = max(wait, e.retryAfter)
	}
	return wait
}

// again returns to short waits, after a success.
func (w *waits) again() { w.growing.Reset() }

// retryable reports whether retrying a repeatable call makes sense after an error.
func retryable(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == "UNAVAILABLE" || e.Code == "ABORTED" && e.Reason == ""
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// repeated makes a call that only reads, or carries an idempotency key, until it succeeds or is refused. It stops at the context's
// deadline or, without one, when the client's patience is over.
func repeated[T any](ctx context.Context, c *Client, call func(context.Context) (T, error)) (T, error) {
	patience := time.Now().Add(c.options.RetryPatience)
	_, bounded := ctx.Deadline()
	if !bounded { // this also bounds an attempt that gets no answer at all
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, patience)
		defer cancel()
	}
	var none T
	for waits := newWaits(); ; {
		result, err := call(ctx)
		if err = FromError(err); err == nil {
			return result, nil
		}
		if canceled := ctx.Err(); errors.Is(canceled, context.Canceled) {
			return none, canceled
		}
		if !retryable(err) {
			return none, err
		}
		wait := waits.next(err)
		if !bounded && time.Now().Add(wait).After(patience) {
			return none, err
		}
		if stopped := pause(ctx, wait); errors.Is(stopped, context.Canceled) {
			return none, stopped
		} else if stopped != nil {
			var e *Error
			errors.As(err, &e)
			return none, timeout(&Error{Code: "DEADLINE_EXCEEDED", Metadata: e.Metadata, cause: err,
				Message: "The time ran out while the server was unavailable: " + e.Message})
		}
	}
}

// bounded returns a context with a deadline: a context without one gets the client's patience as its deadline.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.options.RetryPatience)
}
