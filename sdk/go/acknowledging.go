package openintent

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// acknowledgedAtOnce is how many deliveries one call acknowledges at most.
	acknowledgedAtOnce = 1000
	// gathering is the longest time that finished deliveries wait for more of them. It is shorter than the time after which
	// the server stores what it has sent, so what is handled soon is never stored.
	gathering = 25 * time.Millisecond
	// reasonComesAgain is the reason of the refusal to acknowledge a delivery that a replaced stream has sent.
	reasonComesAgain = "DELIVERY_COMES_AGAIN"
)

// delivered names a delivery. An agent that is deregistered and registers again has another subscription, whose deliveries
// have the same numbers.
type delivered struct {
	subscription string
	number       int64
	// left is how many jobs of the delivery have not ended, if it has several; nil otherwise. The receiver's mutex guards it.
	left *int
}

// acknowledger tells the server which deliveries are finished, many at a time. When deliveries are finished often, it does so on a stream
// (acknowledgements.go).
type acknowledger struct {
	receiver *receiver
	wake     chan struct{}
	hurry    chan struct{} // wakes run while it gathers
	// When this many deliveries wait, they do not wait for more: the stream continues while they are acknowledged.
	many int

	// stream is where deliveries of one subscription are acknowledged; nil if there is none. last is when deliveries were acknowledged.
	// singly is true if the server has no such streams, and until pausedUntil the agent does without, because one was not confirmed. Only
	// run uses these.
	stream      *acknowledgements
	last        time.Time
	singly      bool
	pausedUntil time.Time

	mutex   sync.Mutex
	waiting []delivered
	leaving bool
	busy    bool          // it acknowledges, or a stream is not confirmed
	idle    chan struct{} // closed when nothing waits any more; nil when nobody asks
}

func newAcknowledger(r *receiver) *acknowledger {
	return &acknowledger{
		receiver: r, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), many: int(r.outstanding()) / 4,
	}
}

func (a *acknowledger) add(finished delivered) {
	a.mutex.Lock()
	a.waiting = append(a.waiting, finished)
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
		for subscription, numbers := a.take(); len(numbers) > 0; subscription, numbers = a.take() {
			a.finish(ctx, subscription, numbers)
		}
		confirmed := a.rest(ctx)
		select {
		case <-a.wake:
		case <-confirmed:
		case <-ctx.Done():
			return
		}
	}
}

// finish acknowledges deliveries of one subscription: on a stream if the last ones were acknowledged a short time ago, otherwise by a call.
func (a *acknowledger) finish(ctx context.Context, subscription string, numbers []int64) {
	often := time.Since(a.last) < confirmedAfter
	a.last = time.Now()
	if a.stream != nil && a.stream.subscription != subscription {
		a.confirm(ctx)
	}
	if a.stream == nil && (a.singly || !often || a.last.Before(a.pausedUntil)) {
		a.call(ctx, subscription, numbers)
		return
	}
	a.send(ctx, subscription, numbers)
}

// call acknowledges deliveries by calls.
func (a *acknowledger) call(ctx context.Context, subscription string, numbers []int64) {
	for some := range slices.Chunk(numbers, acknowledgedAtOnce) {
		_, err := persistently(ctx, a.receiver, func(ctx context.Context) (*openintentv1.Subscription, error) {
			return a.acknowledge(ctx, subscription, &some)
		})
		if err != nil && ctx.Err() == nil {
			a.receiver.log.warn("could not acknowledge what it has handled", err)
		}
	}
}

// rest lets the server confirm the stream if it is time for that, and returns when it will be; nil if there is no stream.
func (a *acknowledger) rest(ctx context.Context) <-chan time.Time {
	a.mutex.Lock()
	leaving := a.leaving
	a.mutex.Unlock()
	if a.stream != nil && (leaving || a.stream.full()) {
		a.confirm(ctx)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.busy = a.stream != nil
	if !a.busy && len(a.waiting) == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
	if a.stream == nil {
		return nil
	}
	return a.stream.due.C
}

// acknowledge only logs a refusal: a refusal means that the subscription is gone, and then nothing of it is delivered
// again. It takes numbers away that belong to a replaced stream: the messages come again under new numbers, are recognized
// as handled, and are acknowledged then.
func (a *acknowledger) acknowledge(
	ctx context.Context, subscription string, numbers *[]int64,
) (acknowledged *openintentv1.Subscription, err error) {
	for len(*numbers) > 0 {
		acknowledged, err = a.receiver.client.raw.Subscriptions.AcknowledgeDeliveries(ctx,
			&openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: subscription, Numbers: *numbers})
		number, through, again := comesAgain(err)
		if !again || !slices.Contains(*numbers, number) {
			break
		}
		a.receiver.log.debug("could not acknowledge deliveries that come again", err)
		*numbers = slices.DeleteFunc(*numbers, func(n int64) bool { return number <= n && n <= through })
		err = nil
	}
	if err != nil && !retryable(FromError(err)) {
		a.receiver.log.warn("could not acknowledge what it has handled", err)
		return nil, nil
	}
	return acknowledged, err
}

// comesAgain returns which deliveries the server refused to acknowledge because they come again: the first, and up to which number all
// of the request do.
func comesAgain(err error) (number, through int64, again bool) {
	var refused *Error
	if !errors.As(FromError(err), &refused) || refused.Reason != reasonComesAgain {
		return 0, 0, false
	}
	number, err = strconv.ParseInt(refused.Metadata["number"], 10, 64)
	if through, _ = strconv.ParseInt(refused.Metadata["through"], 10, 64); through < number {
		through = number // a server of an earlier release
	}
	return number, through, err == nil
}

// take returns the next numbers, all of one subscription; none when nothing waits.
func (a *acknowledger) take() (subscription string, numbers []int64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, finished := range a.waiting[:min(len(a.waiting), acknowledgedAtOnce)] {
		if len(numbers) > 0 && finished.subscription != subscription {
			break
		}
		subscription, numbers = finished.subscription, append(numbers, finished.number)
	}
	a.waiting = a.waiting[len(numbers):]
	a.busy = a.busy || len(numbers) > 0
	return subscription, numbers
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
	signal(a.wake)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
