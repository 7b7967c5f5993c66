package c2a

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// pending are the deliveries that the harness has not answered yet, by the ids of their requests. The contract bounds how many there
// are: it makes no further delivery while as many as it was told are not acknowledged.
//
// An answer with a result is the acknowledgement. An answer with an error is none: the contract makes the delivery again, as it does
// when no answer comes.
type pending struct {
	c *connection

	mutex sync.Mutex
	// numbers are those of the deliveries for which a request stands.
	numbers map[string]numbered
	// backlog are the requests that stand for no delivery of the subscription; they are closed with the answer.
	backlog map[string]chan bool
	// done are the numbers of deliveries that the contract has not been told of.
	done  []numbered
	ready chan struct{}
}

// numbered is a delivery of a subscription.
type numbered struct {
	subscription string
	number       int64
}

// await notes that a request stands for a delivery.
func (p *pending) await(id string, made numbered) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.numbers == nil {
		p.numbers = make(map[string]numbered)
	}
	p.numbers[id] = made
}

// awaitAlone notes a request that stands for no delivery. The channel says whether it was answered with a result.
func (p *pending) awaitAlone(id string) <-chan bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.backlog == nil {
		p.backlog = make(map[string]chan bool)
	}
	answer := make(chan bool, 1)
	p.backlog[id] = answer
	return answer
}

// answered takes an answer of the harness. One to a request that nobody made, or that was answered before, says nothing.
func (p *pending) answered(f frame) {
	id, isText := f.textID()
	if !isText {
		return
	}
	accepted := f.Error == nil
	if !accepted {
		p.c.log.Debug("a harness refused a delivery; it comes again", "request", doors.Beginning(id, 100), "error", doors.Beginning(f.Error.Message, 200))
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if alone, there := p.backlog[id]; there {
		delete(p.backlog, id)
		alone <- accepted
	}
	made, there := p.numbers[id]
	delete(p.numbers, id)
	if there && accepted {
		p.finish(made)
	}
}

// stands reports whether a delivery of a subscription waits for its answer, or for the contract to be told of it.
func (p *pending) stands(subscription string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, made := range p.numbers {
		if made.subscription == subscription {
			return true
		}
	}
	return slices.ContainsFunc(p.done, func(made numbered) bool { return made.subscription == subscription })
}

// over says that a delivery needs no answer.
func (p *pending) over(made numbered) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.finish(made)
}

// finish notes a number to be told. The mutex must be held.
func (p *pending) finish(made numbered) {
	p.done = append(p.done, made)
	select {
	case p.channel() <- struct{}{}:
	default: // it is known already
	}
}

// channel returns the channel that says that there are numbers. The mutex must be held.
func (p *pending) channel() chan struct{} {
	if p.ready == nil {
		p.ready = make(chan struct{}, 1)
	}
	return p.ready
}

// acknowledgeAll tells the contract which deliveries are done, all that there are at a time, until the context ends.
func (p *pending) acknowledgeAll(ctx context.Context) {
	p.mutex.Lock()
	ready := p.channel()
	p.mutex.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ready:
		}
		p.mutex.Lock()
		done := make(map[string][]int64)
		for _, made := range p.done {
			done[made.subscription] = append(done[made.subscription], made.number)
		}
		p.done = nil
		p.mutex.Unlock()
		for subscription, numbers := range done {
			for some := range slices.Chunk(numbers, mostAcknowledged) {
				p.acknowledge(ctx, subscription, some)
			}
		}
	}
}

// mostAcknowledged is how many numbers one call acknowledges.
const mostAcknowledged = 1000

// acknowledge tells the contract of some numbers. A failure loses nothing: what is not acknowledged comes again.
func (p *pending) acknowledge(ctx context.Context, subscription string, numbers []int64) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		_, err := p.c.caller.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
			SubscriptionId: subscription, Numbers: numbers,
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		refusal := doors.RefusalOf(err)
		switch {
		case refusal.Code == codes.Unavailable || refusal.Code == codes.ResourceExhausted:
		case len(numbers) > 1: // one of them was refused, and none was taken
			for i := range numbers {
				p.acknowledge(ctx, subscription, numbers[i:i+1])
			}
			return
		default:
			p.c.log.Debug("an acknowledgement was refused; its message comes again", "number", numbers[0], "reason", refusal.Reason)
			return
		}
		if !sleep(ctx, max(pause, refusal.RetryAfter)) {
			return
		}
	}
}

// The pauses between tries to reach the contract.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// sleep waits, and reports whether the context goes on.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
