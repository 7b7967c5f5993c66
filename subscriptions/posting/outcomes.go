package posting

import (
	"context"
	"fmt"
	"time"

	"openintent/messaging/reading"

	"openintent/internal/database"
	"openintent/internal/webhooks"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
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
	failed *record.Delivery
	result webhooks.Result
}

func (o *outcomes) flushIfDue(ctx context.Context) error {
	if len(o.done) < storedTogether && o.dispatch.poster.db.Now().Sub(o.since) < storedWithin {
		return nil
	}
	return o.flush(ctx)
}

// flush stores what was delivered, even when the poster is stopping.
func (o *outcomes) flush(ctx context.Context) error {
	o.since = o.dispatch.poster.db.Now()
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
	run, p := o.dispatch, o.dispatch.poster
	var want record.Wanted
	if o.failed != nil {
		want.Numbers = []int64{o.failed.Number}
		dead = o.result.Gone || o.failed.Attempts+1 >= run.sub.MaxAttempts
	}
	var until time.Time
	begun := record.ProcessTime()
	decide := func(c *record.Change) error {
		if err := c.Locked.Admits(run.consumer.Name, c.Now); err != nil {
			return err
		}
		until = c.Now.Add(record.LeaseTime)
		c.Locked.ConsumerUntil = until
		o.storeIn(c)
		return o.storeFailure(c, dead)
	}
	if dead { // the intent's head is locked before the subscription
		err = p.db.Write(ctx, func(tx *database.Tx) error {
			if err := delivering.LockHeads(tx, []record.Delivery{*o.failed}); err != nil {
				return err
			}
			return record.ChangeIn(tx, run.sub.No, want, decide)
		})
	} else {
		err = p.changes.Change(ctx, run.sub.No, want, decide)
	}
	if err != nil {
		return false, err
	}
	run.consumer.Extend(until, begun)
	o.stored()
	return dead, nil
}

// storeIn stores with a change what was posted, and whether the last post failed.
func (o *outcomes) storeIn(c *record.Change) {
	posted := record.Last(o.done)
	if o.failed != nil {
		posted = o.failed.Number
	}
	c.Locked.OfferedThrough = max(c.Locked.OfferedThrough, posted)
	c.Locked.LastError = o.problem()
	c.Delete(o.done...)
}

// stored records what was delivered, and empties the outcomes, because they are stored.
func (o *outcomes) stored() {
	if run := o.dispatch; len(o.delivered) > 0 {
		run.poster.messaging.RecordOffered(run.sub.Subscriber, o.delivered...)
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
func (o *outcomes) storeFailure(c *record.Change, dead bool) error {
	if o.failed == nil || len(c.Rows) == 0 || !c.Rows[0].DeadAt.IsZero() {
		return nil
	}
	d := c.Rows[0]
	d.Attempts++
	if !dead {
		d.DueAt = c.Now.Add(webhooks.Backoff(int(d.Attempts), o.result.RetryAfter))
		c.Update(d)
		return nil
	}
	d.Reason = fmt.Sprintf("%s This was attempt %d of %d.", o.result.Problem, d.Attempts, c.Locked.MaxAttempts)
	return o.dispatch.poster.supplier.Bury(c, []record.Delivery{d})
}
