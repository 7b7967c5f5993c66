package delivering

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
	"openintent/subscriptions/record"
)

// OfferPage is how many deliveries are read at a time.
const OfferPage = 64

// offering describes which deliveries of a subscription are due, and how many are not.
type offering struct {
	// due contains the deliveries to be made now, by number, up to a limit.
	due []record.Delivery
	// unfinished is the number of unfinished deliveries. outstanding is how many of them were made and may still be acknowledged in
	// time.
	unfinished, outstanding int64
	// next is when another delivery becomes due or is given up. It is zero when no delivery waits for its time.
	next time.Time
	// overdue reports whether there are deliveries to give up.
	overdue bool
}

// offering reads which deliveries are due.
func (s *Supplier) offering(ctx context.Context, sub *record.Subscription, limit int) (o offering, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, sub.Subscriber), func(tx *database.Tx) error {
		o = offering{}
		return tx.Pipeline(o.prepare(tx, sub.No, limit)...)
	})
	return o, err
}

// prepare returns the statements that read which deliveries are due.
func (o *offering) prepare(tx *database.Tx, no int64, limit int) []database.Statement {
	due, dueArgs := record.HasComeIn("d.due_at", tx.Now())
	over, overArgs := record.HasComeIn("d.given_up_at", tx.Now())
	return []database.Statement{{
		SQL: "SELECT " + record.DeliveryColumns + " FROM " + record.UnfinishedOf(tx) +
			" AND d.given_up_at IS NULL AND " + due + " ORDER BY d.number LIMIT ?",
		Args: slices.Concat([]any{no}, dueArgs, []any{limit}),
		Scan: func(row database.Row) error {
			d, err := record.ScanDelivery(row)
			o.due = append(o.due, d)
			return err
		},
	}, {
		SQL: `SELECT COUNT(*), COALESCE(SUM(CASE WHEN d.attempts > 0 AND NOT ` + due + ` THEN 1 ELSE 0 END), 0),
			MIN(CASE WHEN NOT ` + due + ` THEN d.due_at END),
			COALESCE(SUM(CASE WHEN ` + over + ` THEN 1 ELSE 0 END), 0)
			FROM ` + record.UnfinishedOf(tx),
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
func (s *Supplier) offer(ctx context.Context, sub *record.Subscription, consumer string, due []record.Delivery, held int) ([]parcel, error) {
	parcels, gone, err := s.Pack(ctx, sub, due, held)
	if err != nil {
		return nil, err
	}
	if len(parcels)+len(gone) == 0 {
		return nil, errAnswerFull
	}
	numbers := record.NumbersOf(gone)
	for _, p := range parcels {
		numbers = append(numbers, p.Number)
	}
	packed := make(map[int64]parcel, len(parcels))
	for _, p := range parcels {
		packed[p.Number] = p
	}
	var taken map[int64]parcel
	err = s.changes.Change(ctx, sub.No, record.Wanted{Numbers: numbers}, func(c *record.Change) (err error) {
		if err := c.Locked.Admits(consumer, c.Now); err != nil {
			return err
		}
		taken, err = attempt(c, packed)
		if consumer != "" {
			c.Locked.Consumer, c.Locked.ConsumerUntil = consumer, c.Now.Add(record.LeaseTime)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parcels = keepTaken(parcels, taken)
	if len(parcels) == 0 || s.db.Now().Sub(parcels[0].entry.ReadAt) <= FreshFor {
		return parcels, nil
	}
	if parcels, gone, err = s.packAgain(ctx, sub, parcels); err != nil { // the commit took long
		return nil, err
	}
	return parcels, s.PassOver(ctx, sub.No, consumer, gone)
}

// attempt counts an attempt for each delivery that is still due, and returns these. It finishes deliveries of which nothing is left.
func attempt(c *record.Change, packed map[int64]parcel) (taken map[int64]parcel, err error) {
	taken = make(map[int64]parcel)
	for _, d := range c.Rows {
		if !d.Due(c.Now) { // somebody else was faster
			continue
		}
		p, there := packed[d.Number]
		if there { // it may have expired while this waited for the lock
			if p, there, err = p.at(c.Now, c.Locked); err != nil {
				return nil, err
			}
		}
		if there {
			p.Delivery = d.Attempted(c.Locked, c.Now)
			taken[d.Number] = p
			c.Update(p.Delivery)
		} else {
			c.Delete(d.Number)
		}
		c.Locked.OfferedThrough = max(c.Locked.OfferedThrough, d.Number)
	}
	return taken, nil
}

// keepTaken keeps the parcels that were taken, with their attempts counted.
func keepTaken(parcels []parcel, taken map[int64]parcel) []parcel {
	kept := parcels[:0]
	for _, p := range parcels {
		if p, ours := taken[p.Number]; ours {
			p.Wire.Attempt = int32(p.Attempts)
			kept = append(kept, p)
		}
	}
	return kept
}

// PassOver finishes deliveries that were offered to a consumer but had no content left when it was time to send them. It leaves
// alone dead letters, and deliveries that another consumer was offered since.
func (s *Supplier) PassOver(ctx context.Context, no int64, consumer string, gone []record.Delivery) error {
	if len(gone) == 0 {
		return nil
	}
	return s.changes.Change(ctx, no, record.Wanted{Numbers: record.NumbersOf(gone)}, func(c *record.Change) error {
		if err := c.Locked.Admits(consumer, c.Now); err != nil {
			return err
		}
		for _, d := range c.Rows {
			if d.DeadAt.IsZero() {
				c.Delete(d.Number)
			}
		}
		return nil
	})
}

// recordOffered records for the senders that messages were sent to the subscriber.
func (s *Supplier) recordOffered(sub *record.Subscription, parcels ...parcel) {
	entries := make([]reading.Entry, 0, len(parcels))
	for _, p := range parcels {
		entries = p.appendTraced(entries)
	}
	s.messaging.RecordOffered(sub.Subscriber, entries...)
}

// GiveUp turns deliveries into dead letters if nobody acknowledged their last attempt in time. It handles at most a page of
// them.
func (s *Supplier) GiveUp(ctx context.Context, no int64) (count int, err error) {
	var overdue []record.Delivery
	err = s.db.Read(ctx, func(tx *database.Tx) (err error) {
		overdue, err = record.Deliveries(tx, record.UnfinishedOf(tx)+" AND d.given_up_at <= ?", " LIMIT ?", no, database.Micros(s.db.Now()), OfferPage)
		if err != nil || len(overdue) > 0 {
			return err
		}
		overdue, err = record.Deliveries(tx, record.UnfinishedOf(tx)+" AND d.given_up_at > ?", " LIMIT ?", no, record.Astray(s.db.Now()), OfferPage)
		return err
	})
	if err != nil || len(overdue) == 0 {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if err := LockHeads(tx, overdue); err != nil {
			return err
		}
		return record.ChangeIn(tx, no, record.Wanted{Numbers: record.NumbersOf(overdue)}, func(c *record.Change) error {
			var dead []record.Delivery
			for _, d := range c.Rows {
				if d.ToBeGivenUp(c.Now) {
					d.Reason = record.Unacknowledged(c.Locked, d.Attempts)
					dead = append(dead, d)
				}
			}
			count = len(dead)
			return s.Bury(c, dead)
		})
	})
	return count, err
}

// Bury turns deliveries into dead letters, each with its reason. The caller has a transaction of its own, and has locked the heads of the
// deliveries' intents (LockHeads).
func (s *Supplier) Bury(c *record.Change, dead []record.Delivery) error {
	var letters []messaging.DeadLetter
	for _, d := range dead {
		d.DeadAt = c.Now
		c.Update(d)
		for _, place := range d.Messages() {
			letters = append(letters, messaging.DeadLetter{IntentNo: place[0], Position: place[1], At: c.Now, Reason: d.Reason})
		}
	}
	c.Tx.AfterCommit(func() { s.messaging.WakeSubscription(c.Locked.No) })
	return s.messaging.RecordDeadLetters(c.Tx, c.Locked.Subscriber, letters)
}

// LockHeads locks the heads of the deliveries' intents, because the intents store what happens to messages at their recipients.
// The heads are locked before the subscription.
func LockHeads(tx *database.Tx, rows []record.Delivery) error {
	_, order := byPlace(rows)
	_, err := intents.Lock(tx, order...)
	return err
}
