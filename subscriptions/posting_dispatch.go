package subscriptions

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/fault"
	"openintent/internal/webhooks"
)

// errResting ends a dispatch because the endpoint accepts nothing now. It never leaves the room.
var errResting = errors.New("the endpoint accepts nothing now")

// dispatch posts the due deliveries of one subscription, as its consumer.
type dispatch struct {
	poster   *poster
	sub      *subscription
	url      string
	consumer *consumer

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
func (p *poster) dispatch(ctx context.Context, j job) {
	f, now := j.followed, p.service.db.Now()
	if wait := p.service.webhooks.Resting(j.url); wait > 0 {
		p.hold(f, now.Add(wait))
		return
	}
	consumer := p.service.newConsumer(f.no)
	taken, until, err := consumer.acquire(ctx, j.sub, now, wanted{unfinished: true})
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
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
	err = run.post(ctx, queuesOf(taken.unfinished).due(p.service.db.Now()))
	var next time.Time
	if err == nil || errors.Is(err, errResting) || errors.Is(err, errPaused) {
		next, err = run.conclude(ctx)
	} else if run.last != nil {
		err = errors.Join(err, run.last.flush(ctx))
	}
	switch {
	case err == nil && !run.restsUntil.IsZero():
		p.hold(f, run.restsUntil)
	case err == nil && (f.gatherer.full || f.gatherer.passing): // its posts have made room in its window, or there is more to look at
		p.again(f, next)
	case err == nil:
		p.rest(f, next)
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
		p.release(consumer)
		p.unfollow(f)
	case errors.Is(err, errConsumerLost):
		p.service.consumers.remove(consumer)
		p.again(f, time.Time{})
	default:
		p.release(consumer)
		p.fail(f, err)
	}
}

func (p *poster) release(c *consumer) {
	if err := c.release(p.ctx, true); err != nil {
		p.service.logger.Warn("a poster could not release its lease; another one takes over when the lease runs out", "error", err)
	}
}

// hold lets a subscription rest until its endpoint accepts posts again.
func (p *poster) hold(f *followed, until time.Time) {
	p.mutex.Lock()
	f.restsUntil = until
	p.mutex.Unlock()
	p.rest(f, until)
}

// again makes the poster examine a subscription once more.
func (p *poster) again(f *followed, next time.Time) {
	p.mutex.Lock()
	f.again = true
	p.mutex.Unlock()
	p.rest(f, next)
}

// post posts what is due. It posts the deliveries of one queue one after the other, and those of different queues
// simultaneously.
func (run *dispatch) post(ctx context.Context, due [][]delivery) error {
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
func (run *dispatch) postQueue(ctx context.Context, queue []delivery) (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	found := &outcomes{dispatch: run, since: run.poster.service.db.Now()}
	defer func() { err = errors.Join(err, run.finish(ctx, found)) }()
	for _, d := range queue {
		if !run.goesOn(ctx) || !d.due(run.poster.service.db.Now()) {
			return nil
		}
		entry, result, err := run.postOne(ctx, d, found)
		switch {
		case err != nil:
			return err
		case result.Empty: // nothing is left of it for the subscriber
			found.done, found.skipped = append(found.done, d.number), true
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
		found.done, found.delivered = append(found.done, d.number), append(found.delivered, entry)
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
	run.restsUntil = run.poster.service.db.Now().Add(result.RetryAfter)
	return errResting
}

// conclude stores the last outcomes, releases the lease on the subscription, and returns when something is due next.
func (run *dispatch) conclude(ctx context.Context) (next time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storingPatience)
	defer cancel()
	s := run.poster.service
	err = s.changes.change(ctx, run.sub.no, wanted{unfinished: true}, func(c *change) error {
		if err := c.locked.admits(run.consumer.name, c.now); err != nil {
			return err
		}
		left := c.unfinished
		if run.last != nil && len(run.last.done) > 0 {
			run.last.storeIn(c)
			left = slices.DeleteFunc(left, func(d delivery) bool { return slices.Contains(run.last.done, d.number) })
		}
		next = queuesOf(left).next(c.now)
		c.locked.postAt, c.locked.consumer, c.locked.consumerUntil = next, "", time.Time{}
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	if run.last != nil {
		run.last.stored()
	}
	s.consumers.remove(run.consumer)
	return next, nil
}
