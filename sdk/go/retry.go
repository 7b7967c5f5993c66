package openintent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

const (
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
	// longestLocalWait bounds the pauses while there is no connection to a server on this machine, so that its clients are
	// back within a second of its start. gRPC pauses too between its attempts to connect, for longestLocalBackoff at most.
	longestLocalWait    = 500 * time.Millisecond
	longestLocalBackoff = 200 * time.Millisecond
)

// waits produces the pauses between attempts: 100 ms doubling to 5 s, each randomly between half and the whole of
// that, and never less than the server asked for. Those for a server on this machine that says nothing end at 500 ms.
type waits struct {
	local    bool
	failures int
}

// longestBackoff returns how long gRPC pauses at most between two attempts to connect.
func (o Options) longestBackoff() time.Duration {
	if o.isLocal() {
		return longestLocalBackoff
	}
	return time.Second
}

func (c *Client) newWaits() *waits { return &waits{local: c.options.isLocal()} }

// next returns how long to wait after an error.
func (w *waits) next(err error) time.Duration {
	var e *Error
	known := errors.As(err, &e)
	longest := longestWait
	if w.local && (!known || e.Reason == "") {
		longest = longestLocalWait
	}
	whole := min(firstWait<<w.failures, longest)
	if whole < longest {
		w.failures++
	}
	wait := whole/2 + rand.N(whole/2+1)
	if known {
		wait = max(wait, e.retryAfter)
	}
	return wait
}

// again returns to short waits, after a success.
func (w *waits) again() { w.failures = 0 }

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
	for waits := c.newWaits(); ; {
		result, err := call(ctx)
		if err = FromError(err); err == nil {
			c.outage.over()
			return result, nil
		}
		c.outage.failed(err)
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
		wait, bound := waits.next(err), p.connecting(err, c.timeToConnect())
		if time.Now().Add(wait).After(bound.until) {
			return none, c.away(bound, err)
		}
		c.retries(err)
		if stopped := pause(ctx, wait); errors.Is(stopped, context.Canceled) {
			return none, stopped
		}
	}
}
