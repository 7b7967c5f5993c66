package subscriptions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"openintent/messaging/reading"

	"openintent/database"
	"openintent/webhooks"
)

const (
	// A queue's outcomes are stored together, after this many posts or this long. A crash in between repeats the posts.
	notedTogether = 32
	notedWithin   = 250 * time.Millisecond
	// notingPatience bounds how long a stopping poster tries to store what was delivered.
	notingPatience = 2 * time.Second
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
	if len(o.done) < notedTogether && o.dispatch.poster.service.db.Now().Sub(o.since) < notedWithin {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notingPatience)
	defer cancel()
	run, s := o.dispatch, o.dispatch.poster.service
	numbers := slices.Clone(o.done)
	if o.failed != nil {
		numbers = append(numbers, o.failed.number)
		dead = o.result.Gone || o.failed.attempts+1 >= run.sub.maxAttempts
	}
	var until time.Time
	begun := processTime()
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if dead { // the intent's head is locked before the subscription
			if err := lockHeads(tx, []delivery{*o.failed}); err != nil {
				return err
			}
		}
		rows, read := deliveriesNumbered(tx, run.sub.no, numbers)
		locked, now, err := lock(tx, run.sub.no, read)
		if err != nil {
			return err
		}
		if err := locked.admits(run.consumer.name, now); err != nil {
			return err
		}
		locked.offeredThrough = max(locked.offeredThrough, slices.Max(numbers))
		tx.SendWithCommit(deleteDeliveries(tx, run.sub.no, o.done)...)
		until = now.Add(leaseTime)
		tx.SendWithCommit(setOffered(locked), setConsumer(run.sub.no, run.consumer.name, until))
		if problem := o.problem(); problem != locked.lastError {
			tx.SendWithCommit(setLastError(run.sub.no, problem))
		}
		return o.writeFailure(tx, locked, *rows, dead, now)
	})
	if err != nil {
		return false, err
	}
	run.consumer.extend(until, begun)
	if len(o.delivered) > 0 {
		s.messaging.RecordOffered(run.sub.subscriber, o.delivered...)
	}
	o.done, o.delivered, o.skipped, o.failed = nil, nil, false, nil
	return dead, nil
}

// problem returns why the last post failed, or an empty text if it did not fail.
func (o *outcomes) problem() string {
	if o.failed == nil {
		return ""
	}
	return o.result.Problem
}

// writeFailure counts the failed attempt. After the last attempt it gives the delivery up. It leaves a delivery alone that was
// acknowledged meanwhile.
func (o *outcomes) writeFailure(tx *database.Tx, locked *subscription, rows []delivery, dead bool, now time.Time) error {
	if o.failed == nil {
		return nil
	}
	at := slices.IndexFunc(rows, func(d delivery) bool { return d.number == o.failed.number && d.deadAt.IsZero() })
	if at < 0 {
		return nil
	}
	d := rows[at]
	d.attempts++
	if !dead {
		d.dueAt = now.Add(webhooks.Backoff(int(d.attempts), o.result.RetryAfter))
		tx.SendWithCommit(updateDeliveries(tx, locked.no, []delivery{d})...)
		return nil
	}
	d.reason = fmt.Sprintf("%s This was attempt %d of %d.", o.result.Problem, d.attempts, locked.maxAttempts)
	return o.dispatch.poster.service.bury(tx, locked, []delivery{d}, now)
}
