package posting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/fault"
	"openintent/internal/webhooks"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// errResting ends a dispatch because the endpoint accepts nothing now. It never leaves the room.
var errResting = errors.New("the endpoint accepts nothing now")

// dispatch posts the due deliveries of one subscription, as its consumer.
type dispatch struct {
	poster   *Poster
	sub      *record.Subscription
	url      string
	consumer *delivering.Consumer

	// left is how many queues are not finished. last has the outcomes of the one that finished last; they are stored with the release.
	left atomic.Int64
	last *outcomes

	mutex sync.Mutex
	// problem is the first failure that affects more than a single delivery. It ends the dispatch.
	problem    error
	restsUntil time.Time
}

// dispatch acquires the lease on a subscription, posts what is due, and releases the lease. The next examination finds out
// whether there is more.
func (p *Poster) dispatch(ctx context.Context, j job) {
	f, now := j.followed, p.db.Now()
	if wait := p.webhooks.Resting(j.url); wait > 0 {
		p.hold(f, now.Add(wait))
		return
	}
	consumer := p.supplier.NewConsumer(f.no)
	taken, until, err := consumer.Acquire(ctx, j.sub, now, record.Wanted{Unfinished: true})
	switch {
	case errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrEnded):
		p.unfollow(f)
		return
	case err != nil:
		p.release(consumer)
		p.fail(f, err)
		return
	case taken == nil:
		p.rest(f, until)
		return
	}
	run := &dispatch{poster: p, sub: j.sub, url: j.url, consumer: consumer}
	err = run.post(ctx, queuesOf(taken.Unfinished).due(p.db.Now()))
	var next time.Time
	if err == nil || errors.Is(err, errResting) || errors.Is(err, errPaused) {
		next, err = run.conclude(ctx)
	} else if run.last != nil {
		err = errors.Join(err, run.last.flush(ctx))
	}
	switch {
	case err == nil && !run.restsUntil.IsZero():
		p.hold(f, run.restsUntil)
	case err == nil && (f.gatherer.Full || f.gatherer.Passing): // its posts have made room in its window, or there is more to look at
		p.again(f, next)
	case err == nil:
		p.rest(f, next)
	case errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrEnded):
		p.release(consumer)
		p.unfollow(f)
	case errors.Is(err, record.ErrConsumerLost):
		p.supplier.DropConsumer(consumer)
		p.again(f, time.Time{})
	default:
		p.release(consumer)
		p.fail(f, err)
	}
}

func (p *Poster) release(c *delivering.Consumer) {
	if err := c.Release(p.ctx, true); err != nil {
		p.logger.Warn("a poster could not release its lease; another one takes over when the lease runs out", "error", err)
	}
}

// hold lets a subscription rest until its endpoint accepts posts again.
func (p *Poster) hold(f *followed, until time.Time) {
	p.mutex.Lock()
	f.restsUntil = until
	p.mutex.Unlock()
	p.rest(f, until)
}

// again makes the poster examine a subscription once more.
func (p *Poster) again(f *followed, next time.Time) {
	p.mutex.Lock()
	f.again = true
	p.mutex.Unlock()
	p.rest(f, next)
}

// post posts what is due. It posts the deliveries of one queue one after the other, and those of different queues
// simultaneously.
func (run *dispatch) post(ctx context.Context, due [][]record.Delivery) error {
	run.left.Store(int64(len(due)))
	var taken atomic.Int64
	var posting sync.WaitGroup
	for range min(len(due), webhooks.Concurrency) {
		posting.Go(func() {
			for run.goesOn(ctx) {
				at := int(taken.Add(1)) - 1
				if at >= len(due) {
					return
				}
				run.end(run.postQueue(ctx, due[at]))
			}
		})
	}
	posting.Wait()
	return errors.Join(run.problem, context.Cause(ctx))
}

// end ends the dispatch if there is a problem. Posts that are under way run to their end.
func (run *dispatch) end(problem error) {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	if run.problem == nil {
		run.problem = problem
	}
}

func (run *dispatch) goesOn(ctx context.Context) bool {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	return run.problem == nil && ctx.Err() == nil
}

// postQueue posts deliveries in order. It stops at a delivery that failed and will be tried again.
func (run *dispatch) postQueue(ctx context.Context, queue []record.Delivery) (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	found := &outcomes{dispatch: run, since: run.poster.db.Now()}
	defer func() { err = errors.Join(err, run.finish(ctx, found)) }()
	for _, d := range queue {
		if !run.goesOn(ctx) || !d.Due(run.poster.db.Now()) {
			return nil
		}
		entry, result, err := run.postOne(ctx, d, found)
		switch {
		case err != nil:
			return err
		case result.Empty: // nothing is left of it for the subscriber
			found.done, found.skipped = append(found.done, d.Number), true
			continue
		case result.PutOff:
			return run.hold(ctx, result)
		case !result.Delivered:
			found.failed, found.result = &d, result
			dead, err := found.write(ctx)
			if err != nil || !dead {
				return err
			}
			continue
		}
		found.done, found.delivered = append(found.done, d.Number), append(found.delivered, entry)
		if err := found.flushIfDue(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the outcomes of a queue. If no other queue is left, it leaves that to the end of the dispatch.
func (run *dispatch) finish(ctx context.Context, found *outcomes) error {
	if run.left.Add(-1) == 0 {
		run.last = found
		return nil
	}
	return found.flush(ctx)
}

// hold records when the endpoint accepts posts again. If the context of a post has ended, its result does not contain that
// time.
func (run *dispatch) hold(ctx context.Context, result webhooks.Result) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run.mutex.Lock()
	defer run.mutex.Unlock()
	run.restsUntil = run.poster.db.Now().Add(result.RetryAfter)
	return errResting
}

// conclude stores the last outcomes, releases the lease on the subscription, and returns when something is due next.
func (run *dispatch) conclude(ctx context.Context) (next time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storingPatience)
	defer cancel()
	p := run.poster
	err = p.changes.Change(ctx, run.sub.No, record.Wanted{Unfinished: true}, func(c *record.Change) error {
		if err := c.Locked.Admits(run.consumer.Name, c.Now); err != nil {
			return err
		}
		left := c.Unfinished
		if run.last != nil && len(run.last.done) > 0 {
			run.last.storeIn(c)
			left = slices.DeleteFunc(left, func(d record.Delivery) bool { return slices.Contains(run.last.done, d.Number) })
		}
		next = queuesOf(left).next(c.Now)
		c.Locked.PostAt, c.Locked.Consumer, c.Locked.ConsumerUntil = next, "", time.Time{}
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	if run.last != nil {
		run.last.stored()
	}
	p.supplier.DropConsumer(run.consumer)
	return next, nil
}
