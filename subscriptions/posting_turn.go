package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openintent/messaging/reading"

	"openintent/database"
	"openintent/webhooks"
)

const (
	// What was delivered is noted after so many posts of a queue or so long, together. A crash in between repeats them.
	notedTogether = 32
	notedWithin   = 250 * time.Millisecond
	// notingPatience bounds how long a poster that stops tries to note what was delivered.
	notingPatience = 2 * time.Second
)

// errHeld ends a turn because the endpoint takes nothing at present. It never leaves the room.
var errHeld = errors.New("the endpoint takes nothing at present")

// turn posts what is due of one subscription, as its consumer.
type turn struct {
	poster   *poster
	sub      *subscription
	url      string
	consumer *consumer

	mutex sync.Mutex
	// problem is what ends the turn: the first that is not a single delivery's.
	problem   error
	heldUntil time.Time
}

// turn takes a subscription, posts what is due, and leaves it. Whether there is more is for the next examination to find.
func (p *poster) turn(ctx context.Context, j job) {
	f, now := j.followed, p.service.db.Now()
	if wait := p.service.webhooks.Held(j.url); wait > 0 {
		p.hold(f, now.Add(wait))
		return
	}
	consumer := p.service.newConsumer(f.no)
	ours, until, err := consumer.take(ctx, j.sub, now)
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
		p.unfollow(f)
		return
	case err != nil:
		p.leave(consumer)
		p.fail(f, err)
		return
	case !ours:
		p.rest(f, until)
		return
	}
	t := &turn{poster: p, sub: j.sub, url: j.url, consumer: consumer}
	err = t.post(ctx)
	var next time.Time
	if err == nil || errors.Is(err, errHeld) {
		next, err = t.conclude(ctx)
	}
	switch {
	case err == nil && !t.heldUntil.IsZero():
		p.hold(f, t.heldUntil)
	case err == nil:
		p.again(f, next)
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
		p.leave(consumer)
		p.unfollow(f)
	case errors.Is(err, errConsumerLost):
		p.service.consumers.remove(consumer)
		p.again(f, time.Time{})
	default:
		p.leave(consumer)
		p.fail(f, err)
	}
}

func (p *poster) leave(c *consumer) {
	if err := c.leave(p.ctx); err != nil {
		p.service.logger.Warn("a poster could not say that it ended; another takes over a little later", "error", err)
	}
}

// hold lets a subscription rest until its endpoint takes posts again.
func (p *poster) hold(f *followed, until time.Time) {
	p.mutex.Lock()
	f.heldUntil = until
	p.mutex.Unlock()
	p.rest(f, until)
}

// again has a subscription examined once more: while it was posted from, its window got room.
func (p *poster) again(f *followed, next time.Time) {
	p.mutex.Lock()
	f.again = true
	p.mutex.Unlock()
	p.rest(f, next)
}

// post posts what is due: of each queue one after the other, and of different queues beside each other.
func (t *turn) post(ctx context.Context) error {
	waiting, err := t.poster.service.readQueues(ctx, t.sub.no)
	if err != nil {
		return err
	}
	due := make([][]delivery, 0, len(waiting))
	now := t.poster.service.db.Now()
	for _, queue := range waiting {
		if queue[0].due(now) {
			due = append(due, queue)
		}
	}
	slices.SortFunc(due, func(a, b []delivery) int { return int(a[0].number - b[0].number) })

	var taken atomic.Int64
	var posting sync.WaitGroup
	for range min(len(due), webhooks.Concurrency) {
		posting.Go(func() {
			for t.goesOn(ctx) {
				at := int(taken.Add(1)) - 1
				if at >= len(due) {
					return
				}
				t.end(t.postQueue(ctx, due[at]))
			}
		})
	}
	posting.Wait()
	return errors.Join(t.problem, context.Cause(ctx))
}

// end ends the turn with a problem, if it is one. Posts that are under way are let through.
func (t *turn) end(problem error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.problem == nil {
		t.problem = problem
	}
}

func (t *turn) goesOn(ctx context.Context) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.problem == nil && ctx.Err() == nil
}

// postQueue posts deliveries in their order, until one fails that is to be tried again.
func (t *turn) postQueue(ctx context.Context, queue []delivery) (err error) {
	n := &notes{turn: t, since: t.poster.service.db.Now()}
	defer func() { err = errors.Join(err, n.flush(ctx)) }()
	for _, d := range queue {
		if !t.goesOn(ctx) || !d.due(t.poster.service.db.Now()) {
			return nil
		}
		entry, result, err := t.postOne(ctx, d)
		switch {
		case err != nil:
			return err
		case result.Empty: // nothing is left of it for the subscriber
			n.done = append(n.done, d.number)
			continue
		case result.Held:
			return t.hold(ctx, result)
		case !result.Delivered:
			n.failed, n.result = &d, result
			dead, err := n.write(ctx)
			if err != nil || !dead {
				return err
			}
			continue
		}
		n.done, n.delivered = append(n.done, d.number), append(n.delivered, entry)
		if err := n.flushIfDue(ctx); err != nil {
			return err
		}
	}
	return nil
}

// postOne posts one delivery, as the subscriber may see it when it is about to be sent.
func (t *turn) postOne(ctx context.Context, d delivery) (entry reading.Entry, result webhooks.Result, err error) {
	result = t.poster.service.webhooks.Post(ctx, webhooks.Request{
		URL: t.url, Secret: t.sub.secret, ID: webhookID(t.sub, d.number),
		Body: func(ctx context.Context) (body []byte) {
			var found map[int64]reading.Entry
			found, err = t.poster.service.contents(ctx, t.sub, t.sub.filter, []delivery{d}, true)
			var there bool
			if entry, there = found[d.number]; there {
				body, err = t.poster.body(t.sub, entry)
			}
			return body
		},
	})
	return entry, result, err
}

// hold notes until when the endpoint takes nothing. A post that was given up with its context says no time.
func (t *turn) hold(ctx context.Context, result webhooks.Result) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.heldUntil = t.poster.service.db.Now().Add(result.RetryAfter)
	return errHeld
}

// conclude leaves the subscription and says when there is next something to post.
func (t *turn) conclude(ctx context.Context) (next time.Time, err error) {
	s := t.poster.service
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		read, queues := prepareQueues(t.sub.no)
		locked, now, err := lock(tx, t.sub.no, read)
		if err != nil {
			return err
		}
		if err := locked.admits(t.consumer.name, now); err != nil {
			return err
		}
		next = queues().next()
		tx.SendWithCommit(setPostAt(t.sub.no, next), setConsumer(t.sub.no, "", time.Time{}))
		return nil
	})
	if err == nil {
		s.consumers.remove(t.consumer)
	}
	return next, err
}

// notes are what became of a queue's deliveries and is not stored yet.
type notes struct {
	turn  *turn
	since time.Time
	// done are delivered or passed over; delivered are the contents of the former.
	done      []int64
	delivered []reading.Entry
	// failed is a delivery that failed after those, and result how.
	failed *delivery
	result webhooks.Result
}

func (n *notes) flushIfDue(ctx context.Context) error {
	if len(n.done) < notedTogether && n.turn.poster.service.db.Now().Sub(n.since) < notedWithin {
		return nil
	}
	return n.flush(ctx)
}

// flush stores what was delivered, also when the poster is stopping.
func (n *notes) flush(ctx context.Context) error {
	n.since = n.turn.poster.service.db.Now()
	if len(n.done) == 0 {
		return nil
	}
	_, err := n.write(ctx)
	return err
}

// write stores the notes under the subscription's lock, and tells whether the failed delivery was given up.
func (n *notes) write(ctx context.Context) (dead bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notingPatience)
	defer cancel()
	t, s := n.turn, n.turn.poster.service
	numbers := slices.Clone(n.done)
	if n.failed != nil {
		numbers = append(numbers, n.failed.number)
		dead = n.result.Gone || n.failed.attempts+1 >= t.sub.maxAttempts
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if dead { // the intent's head comes before the subscription
			if err := lockHeads(tx, []delivery{*n.failed}); err != nil {
				return err
			}
		}
		rows, read := deliveriesNumbered(tx, t.sub.no, numbers)
		locked, now, err := lock(tx, t.sub.no, read)
		if err != nil {
			return err
		}
		if err := locked.admits(t.consumer.name, now); err != nil {
			return err
		}
		locked.offeredThrough = max(locked.offeredThrough, slices.Max(numbers))
		tx.SendWithCommit(deleteDeliveries(tx, t.sub.no, n.done)...)
		tx.SendWithCommit(setOffered(locked), setConsumer(t.sub.no, t.consumer.name, now.Add(consumerPatience)))
		if problem := n.problem(); problem != locked.lastError {
			tx.SendWithCommit(setLastError(t.sub.no, problem))
		}
		return n.writeFailure(tx, locked, *rows, dead, now)
	})
	if err != nil {
		return false, err
	}
	if len(n.delivered) > 0 {
		s.messaging.RecordOffered(t.sub.subscriber, n.delivered...)
	}
	n.done, n.delivered, n.failed = nil, nil, nil
	return dead, nil
}

// problem is why the last post failed; empty when it did not.
func (n *notes) problem() string {
	if n.failed == nil {
		return ""
	}
	return n.result.Problem
}

// writeFailure counts the failed attempt, and gives the delivery up with the last. One that was acknowledged meanwhile is
// done with.
func (n *notes) writeFailure(tx *database.Tx, locked *subscription, rows []delivery, dead bool, now time.Time) error {
	if n.failed == nil {
		return nil
	}
	at := slices.IndexFunc(rows, func(d delivery) bool { return d.number == n.failed.number && d.deadAt.IsZero() })
	if at < 0 {
		return nil
	}
	d := rows[at]
	d.attempts++
	if !dead {
		d.dueAt = now.Add(webhooks.Backoff(int(d.attempts), n.result.RetryAfter))
		tx.SendWithCommit(updateDeliveries(tx, locked.no, []delivery{d})...)
		return nil
	}
	d.reason = fmt.Sprintf("%s This was attempt %d of %d.", n.result.Problem, d.attempts, locked.maxAttempts)
	return n.turn.poster.service.bury(tx, locked, []delivery{d}, now)
}
