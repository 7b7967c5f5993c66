package subscriptions

import (
	"context"
	"errors"
	"slices"
	"time"

	"openintent/messaging/reading"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
)

// offerPage is how many deliveries are read at a time.
const offerPage = 64

// offering describes which deliveries of a subscription are due, and how many are not.
type offering struct {
	// due contains the deliveries to be made now, by number, up to a limit.
	due []delivery
	// unfinished is the number of unfinished deliveries. outstanding is how many of them were made and may still be acknowledged in
	// time.
	unfinished, outstanding int64
	// next is when another delivery becomes due or is given up. It is zero when no delivery waits for its time.
	next time.Time
	// overdue reports whether there are deliveries to give up.
	overdue bool
}

// offering reads which deliveries are due.
func (s *Service) offering(ctx context.Context, sub *subscription, limit int) (o offering, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, sub.subscriber), func(tx *database.Tx) error {
		o = offering{}
		return tx.Pipeline(o.prepare(tx, sub.no, limit)...)
	})
	return o, err
}

// prepare returns the statements that read which deliveries are due.
func (o *offering) prepare(tx *database.Tx, no int64, limit int) []database.Statement {
	due, dueArgs := hasComeIn("d.due_at", tx.Now())
	over, overArgs := hasComeIn("d.given_up_at", tx.Now())
	return []database.Statement{{
		SQL: "SELECT " + deliveryColumns + " FROM " + unfinishedOf(tx) +
			" AND d.given_up_at IS NULL AND " + due + " ORDER BY d.number LIMIT ?",
		Args: slices.Concat([]any{no}, dueArgs, []any{limit}),
		Scan: func(row database.Row) error {
			d, err := scanDelivery(row)
			o.due = append(o.due, d)
			return err
		},
	}, {
		SQL: `SELECT COUNT(*), COALESCE(SUM(CASE WHEN d.attempts > 0 AND NOT ` + due + ` THEN 1 ELSE 0 END), 0),
			MIN(CASE WHEN NOT ` + due + ` THEN d.due_at END),
			COALESCE(SUM(CASE WHEN ` + over + ` THEN 1 ELSE 0 END), 0)
			FROM ` + unfinishedOf(tx),
		Args: slices.Concat(dueArgs, dueArgs, overArgs, []any{no}),
		Scan: func(row database.Row) error {
			var next *int64
			var overdue int64
			err := row.Scan(&o.unfinished, &o.outstanding, &next, &overdue)
			o.next, o.overdue = database.TimeOrZero(next), overdue > 0
			return err
		},
	}}
}

// errAnswerFull says that no further delivery fits into an answer. It never leaves the room.
var errAnswerFull = errors.New("the answer is full")

// offer prepares due deliveries for a consumer. It reads their contents. Then, under the subscription's lock, it counts an
// attempt for each delivery that nobody else was offered meanwhile. So a crash after the commit costs an attempt, and a crash before it
// costs nothing. It finishes deliveries without content. If the commit took long, it reads the contents again. An empty consumer stands for a fetch, which is refused
// while somebody else has the lease.
func (s *Service) offer(ctx context.Context, sub *subscription, consumer string, due []delivery, held int) ([]parcel, error) {
	parcels, gone, err := s.pack(ctx, sub, due, held)
	if err != nil {
		return nil, err
	}
	if len(parcels)+len(gone) == 0 {
		return nil, errAnswerFull
	}
	numbers := numbersOf(gone)
	for _, p := range parcels {
		numbers = append(numbers, p.number)
	}
	packed := make(map[int64]parcel, len(parcels))
	for _, p := range parcels {
		packed[p.number] = p
	}
	var taken map[int64]parcel
	err = s.changes.change(ctx, sub.no, wanted{numbers: numbers}, func(c *change) (err error) {
		if err := c.locked.admits(consumer, c.now); err != nil {
			return err
		}
		taken, err = c.attempt(packed)
		if consumer != "" {
			c.locked.consumer, c.locked.consumerUntil = consumer, c.now.Add(leaseTime)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parcels = keepTaken(parcels, taken)
	if len(parcels) == 0 || s.db.Now().Sub(parcels[0].entry.ReadAt) <= freshFor {
		return parcels, nil
	}
	if parcels, gone, err = s.packAgain(ctx, sub, parcels); err != nil { // the commit took long
		return nil, err
	}
	return parcels, s.passOver(ctx, sub.no, consumer, gone)
}

// attempt counts an attempt for each delivery that is still due, and returns these. It finishes deliveries of which nothing is left.
func (c *change) attempt(packed map[int64]parcel) (taken map[int64]parcel, err error) {
	taken = make(map[int64]parcel)
	for _, d := range c.rows {
		if !d.due(c.now) { // somebody else was faster
			continue
		}
		p, there := packed[d.number]
		if there { // it may have expired while this waited for the lock
			if p, there, err = p.at(c.now, c.locked); err != nil {
				return nil, err
			}
		}
		if there {
			p.delivery = d.attempted(c.locked, c.now)
			taken[d.number] = p
			c.update(p.delivery)
		} else {
			c.delete(d.number)
		}
		c.locked.offeredThrough = max(c.locked.offeredThrough, d.number)
	}
	return taken, nil
}

// keepTaken keeps the parcels that were taken, with their attempts counted.
func keepTaken(parcels []parcel, taken map[int64]parcel) []parcel {
	kept := parcels[:0]
	for _, p := range parcels {
		if p, ours := taken[p.number]; ours {
			p.wire.Attempt = int32(p.attempts)
			kept = append(kept, p)
		}
	}
	return kept
}

// passOver finishes deliveries that were offered to a consumer but had no content left when it was time to send them. It leaves
// alone dead letters, and deliveries that another consumer was offered since.
func (s *Service) passOver(ctx context.Context, no int64, consumer string, gone []delivery) error {
	if len(gone) == 0 {
		return nil
	}
	return s.changes.change(ctx, no, wanted{numbers: numbersOf(gone)}, func(c *change) error {
		if err := c.locked.admits(consumer, c.now); err != nil {
			return err
		}
		for _, d := range c.rows {
			if d.deadAt.IsZero() {
				c.delete(d.number)
			}
		}
		return nil
	})
}

// admits refuses a consumer that may not receive deliveries now.
func (s *subscription) admits(consumer string, now time.Time) error {
	switch {
	case !s.active(now):
		return errEnded
	case consumer == "" && s.leasedByOther("", now):
		return errInUse
	case consumer != "" && s.consumer != consumer:
		return errConsumerLost
	}
	return nil
}

// recordOffered records for the senders that messages were sent to the subscriber.
func (s *Service) recordOffered(sub *subscription, parcels ...parcel) {
	entries := make([]reading.Entry, 0, len(parcels))
	for _, p := range parcels {
		entries = p.appendTraced(entries)
	}
	s.messaging.RecordOffered(sub.subscriber, entries...)
}

// giveUp turns deliveries into dead letters if nobody acknowledged their last attempt in time. It handles at most a page of
// them.
func (s *Service) giveUp(ctx context.Context, no int64) (count int, err error) {
	var overdue []delivery
	err = s.db.Read(ctx, func(tx *database.Tx) (err error) {
		overdue, err = deliveries(tx, unfinishedOf(tx)+" AND d.given_up_at <= ?", " LIMIT ?", no, database.Micros(s.db.Now()), offerPage)
		if err != nil || len(overdue) > 0 {
			return err
		}
		overdue, err = deliveries(tx, unfinishedOf(tx)+" AND d.given_up_at > ?", " LIMIT ?", no, astray(s.db.Now()), offerPage)
		return err
	})
	if err != nil || len(overdue) == 0 {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if err := lockHeads(tx, overdue); err != nil {
			return err
		}
		return changeIn(tx, no, wanted{numbers: numbersOf(overdue)}, func(c *change) error {
			var dead []delivery
			for _, d := range c.rows {
				if d.toBeGivenUp(c.now) {
					d.reason = unacknowledged(c.locked, d.attempts)
					dead = append(dead, d)
				}
			}
			count = len(dead)
			return s.bury(c, dead)
		})
	})
	return count, err
}

// bury turns deliveries into dead letters, each with its reason. The caller has a transaction of its own, and has locked the heads of the
// deliveries' intents (lockHeads).
func (s *Service) bury(c *change, dead []delivery) error {
	var letters []messaging.DeadLetter
	for _, d := range dead {
		d.deadAt = c.now
		c.update(d)
		for _, place := range d.messages() {
			letters = append(letters, messaging.DeadLetter{IntentNo: place[0], Position: place[1], At: c.now, Reason: d.reason})
		}
	}
	c.tx.AfterCommit(func() { s.messaging.WakeSubscription(c.locked.no) })
	return s.messaging.RecordDeadLetters(c.tx, c.locked.subscriber, letters)
}

// lockHeads locks the heads of the deliveries' intents, because the intents store what happens to messages at their recipients.
// The heads are locked before the subscription.
func lockHeads(tx *database.Tx, rows []delivery) error {
	_, order := byPlace(rows)
	_, err := intents.Lock(tx, order...)
	return err
}
