package openintent

import (
	"context"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// acknowledgedAtOnce is how many deliveries one call acknowledges at most.
	acknowledgedAtOnce = 1000
	// gathering is the longest time that finished deliveries wait for more of them: each call is a commit on the
	// server, and answers that are being sent would have to wait for it.
	gathering = 100 * time.Millisecond
)

// acknowledger tells the server which deliveries are finished, many at a time.
type acknowledger struct {
	receiver *receiver
	wake     chan struct{}
	hurry    chan struct{} // wakes run while it gathers
	// When this many deliveries wait, they do not wait for more: the stream continues while they are acknowledged.
	many int

	mutex   sync.Mutex
	waiting []int64
	leaving bool
	busy    bool
	idle    chan struct{} // closed when nothing waits any more; nil when nobody asks
}

func newAcknowledger(r *receiver) *acknowledger {
	return &acknowledger{
		receiver: r, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), many: int(r.outstanding()) / 4,
	}
}

func (a *acknowledger) add(number int64) {
	a.mutex.Lock()
	a.waiting = append(a.waiting, number)
	enough := a.enough()
	a.mutex.Unlock()
	signal(a.wake)
	if enough {
		signal(a.hurry)
	}
}

// enough reports whether the waiting deliveries must be acknowledged without delay.
func (a *acknowledger) enough() bool { return a.leaving || len(a.waiting) >= a.many }

func signal(listener chan struct{}) {
	select {
	case listener <- struct{}{}:
	default:
	}
}

// gather waits for a while until more deliveries are finished.
func (a *acknowledger) gather(ctx context.Context) {
	timer := time.NewTimer(gathering)
	defer timer.Stop()
	for {
		a.mutex.Lock()
		done := a.enough() || len(a.waiting) == 0
		a.mutex.Unlock()
		if done {
			return
		}
		select {
		case <-a.hurry: // it may be about deliveries that were acknowledged meanwhile
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// run acknowledges until the context ends. Deliveries that are not acknowledged when it ends are delivered again.
func (a *acknowledger) run(ctx context.Context) {
	for {
		a.gather(ctx)
		for numbers := a.take(); len(numbers) > 0; numbers = a.take() {
			_, err := persistently(ctx, a.receiver, func(ctx context.Context) (*openintentv1.Subscription, error) {
				return a.acknowledge(ctx, numbers)
			})
			if err != nil && ctx.Err() == nil {
				a.receiver.log.warn("could not acknowledge what it has handled", err)
			}
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return
		}
	}
}

// acknowledge only logs a refusal: a refusal means that the subscription is gone, and then nothing of it is delivered
// again.
func (a *acknowledger) acknowledge(ctx context.Context, numbers []int64) (*openintentv1.Subscription, error) {
	acknowledged, err := a.receiver.client.raw.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
		SubscriptionId: a.receiver.subscriptionID(), Numbers: numbers,
	})
	if err != nil && !retryable(FromError(err)) {
		a.receiver.log.warn("could not acknowledge what it has handled", err)
		return nil, nil
	}
	return acknowledged, err
}

// take returns the next numbers; none when nothing waits.
func (a *acknowledger) take() []int64 {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	count := min(len(a.waiting), acknowledgedAtOnce)
	taken := a.waiting[:count:count]
	a.waiting = a.waiting[count:]
	a.busy = count > 0
	if !a.busy && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
	return taken
}

// flush waits until everything is acknowledged, or its patience is over.
func (a *acknowledger) flush(patience time.Duration) {
	a.mutex.Lock()
	if !a.busy && len(a.waiting) == 0 {
		a.mutex.Unlock()
		return
	}
	if a.idle == nil {
		a.idle = make(chan struct{})
	}
	idle := a.idle
	a.leaving = true
	a.mutex.Unlock()
	signal(a.hurry)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
