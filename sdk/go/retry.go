package openintent

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc"
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
	switch e.Code {
	case "UNAVAILABLE":
		return e.Reason != reasonNotGRPC && e.Reason != reasonNoTLS
	case "ABORTED":
		return e.Reason == ""
	}
	return false
}

// retries tells the program that a call is made again.
func (o Options) retries(err error) {
	if o.OnRetry != nil {
		o.OnRetry(err)
	}
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

// repeated makes a call that only reads, or carries an idempotency key, until it succeeds or is refused. It stops at the
// context's deadline or, without one, when the client's patience is over.
func repeated[T any](ctx context.Context, c *Client, call func(context.Context) (T, error)) (T, error) {
	p := c.patienceFor(ctx)
	ctx, cancel := context.WithDeadline(ctx, p.until) // this also bounds an attempt that gets no answer at all
	defer cancel()
	return attempted(ctx, c, p, call, always)
}

// once makes a call that must not happen twice: it is made again only while it has certainly taken no effect.
func once[T any](ctx context.Context, c *Client, call func(context.Context, grpc.CallOption) (T, error)) (T, error) {
	p := c.patienceFor(ctx)
	ctx, cancel := context.WithDeadline(ctx, p.until)
	defer cancel()
	last := &attempt{}
	return attempted(ctx, c, p, func(ctx context.Context) (T, error) {
		*last = attempt{}
		return call(ctx, last.option())
	}, last.undone)
}

// always is for calls that may be made again after any passing failure.
func always(error) bool { return true }

// attempted makes a call until it succeeds or is refused, or its patience is over. After a passing failure it asks again
// whether the call may be repeated. The context bounds the attempts themselves.
func attempted[T any](
	ctx context.Context, c *Client, p patience, call func(context.Context) (T, error), again func(error) bool,
) (T, error) {
	var none T
	for waits := newWaits(); ; {
		result, err := call(ctx)
		if err = FromError(err); err == nil {
			return result, nil
		}
		if canceled := ctx.Err(); errors.Is(canceled, context.Canceled) {
			return none, canceled
		}
		switch {
		case unanswered(err):
			return none, c.away(p, err)
		case !retryable(err):
			return none, err
		case !again(err):
			return none, c.perhapsDone(err)
		}
		wait := waits.next(err)
		if time.Now().Add(wait).After(p.until) {
			return none, c.away(p, err)
		}
		c.options.retries(err)
		if stopped := pause(ctx, wait); errors.Is(stopped, context.Canceled) {
			return none, stopped
		}
	}
}
