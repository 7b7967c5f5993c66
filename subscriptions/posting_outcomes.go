package subscriptions

import (
	"context"
	"fmt"
	"time"

	"openintent/messaging/reading"

	"openintent/internal/database"
	"openintent/internal/webhooks"
)

const (
	// A queue's outcomes are stored together, after this many posts or this long. A crash in between repeats the posts.
	storedTogether = 32
	storedWithin   = 250 * time.Millisecond
	// storingPatience bounds how long a stopping poster tries to store what was delivered.
	storingPatience = 2 * time.Second
)

// outcomes are the results of posting a queue's deliveries that are not stored yet.
type outcomes struct {
	dispatch *dispatch
	since    time.Time
	// done contains the deliveries that were made or skipped. delivered contains the contents of those that were made.
	done      []int64
	delivered []reading.Entry
	// skipped is true when a delivery in done was skipped.
	skipped bool
	// failed is a delivery that failed after those, and result describes the failure.
	failed *delivery
	result webhooks.Result
}

func (o *outcomes) flushIfDue(ctx context.Context) error {
	if len(o.done) < storedTogether && o.dispatch.poster.service.db.Now().Sub(o.since) < storedWithin {
		return nil
	}
	return o.flush(ctx)
}

// flush stores what was delivered, even when the poster is stopping.
func (o *outcomes) flush(ctx context.Context) error {
	o.since = o.dispatch.poster.service.db.Now()
	if len(o.done) == 0 {
		return nil
	}
	_, err := o.write(ctx)
	return err
}

// write stores the outcomes under the subscription's lock. dead is true when it gave the failed delivery up.
func (o *outcomes) write(ctx context.Context) (dead bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storingPatience)
	defer cancel()
	run, s := o.dispatch, o.dispatch.poster.service
	var want wanted
	if o.failed != nil {
		want.numbers = []int64{o.failed.number}
		dead = o.result.Gone || o.failed.attempts+1 >= run.sub.maxAttempts
	}
	var until time.Time
	begun := processTime()
	decide := func(c *change) error {
		if err := c.locked.admits(run.consumer.name, c.now); err != nil {
			return err
		}
		until = c.now.Add(leaseTime)
		c.locked.consumerUntil = until
		o.storeIn(c)
		return o.storeFailure(c, dead)
	}
	if dead { // the intent's head is locked before the subscription
		err = s.db.Write(ctx, func(tx *database.Tx) error {
			if err := lockHeads(tx, []delivery{*o.failed}); err != nil {
				return err
			}
			return changeIn(tx, run.sub.no, want, decide)
		})
	} else {
		err = s.changes.change(ctx, run.sub.no, want, decide)
	}
	if err != nil {
		return false, err
	}
	run.consumer.extend(until, begun)
	o.stored()
	return dead, nil
}

// storeIn stores with a change what was posted, and whether the last post failed.
func (o *outcomes) storeIn(c *change) {
	posted := last(o.done)
	if o.failed != nil {
		posted = o.failed.number
	}
	c.locked.offeredThrough = max(c.locked.offeredThrough, posted)
	c.locked.lastError = o.problem()
	c.delete(o.done...)
}

// stored records what was delivered, and empties the outcomes, because they are stored.
func (o *outcomes) stored() {
	if run := o.dispatch; len(o.delivered) > 0 {
		run.poster.service.messaging.RecordOffered(run.sub.subscriber, o.delivered...)
	}
	o.done, o.delivered, o.skipped, o.failed = nil, nil, false, nil
}

// problem returns why the last post failed, or an empty text if it did not fail.
func (o *outcomes) problem() string {
	if o.failed == nil {
		return ""
	}
	return o.result.Problem
}

// storeFailure counts the failed attempt. After the last attempt it gives the delivery up. It leaves a delivery alone that was
// acknowledged meanwhile.
func (o *outcomes) storeFailure(c *change, dead bool) error {
	if o.failed == nil || len(c.rows) == 0 || !c.rows[0].deadAt.IsZero() {
		return nil
	}
	d := c.rows[0]
	d.attempts++
	if !dead {
		d.dueAt = c.now.Add(webhooks.Backoff(int(d.attempts), o.result.RetryAfter))
		c.update(d)
		return nil
	}
	d.reason = fmt.Sprintf("%s This was attempt %d of %d.", o.result.Problem, d.attempts, c.locked.maxAttempts)
	return o.dispatch.poster.service.bury(c, []delivery{d})
}
