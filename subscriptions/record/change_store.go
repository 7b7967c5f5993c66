package record

import (
	"time"

	"openintent/internal/database"
)

// storedProgress are the columns of a subscription that change while it delivers. Times are microseconds; 0 stands for an unset one.
type storedProgress struct {
	lastNumber, offeredThrough, reservedThrough int64
	abandoned, consumer, lastError              string
	consumerUntil, postAt                       int64
}

func (s *Subscription) storedProgress() storedProgress {
	return storedProgress{
		lastNumber: s.LastNumber, offeredThrough: s.OfferedThrough, reservedThrough: s.ReservedThrough,
		abandoned: abandonedText(s.abandoned), consumer: s.Consumer, lastError: s.LastError,
		consumerUntil: database.MicrosOrZero(s.ConsumerUntil), postAt: database.MicrosOrZero(s.PostAt),
	}
}

// storeChanges sends what was decided about subscriptions with the commit: a few statements for all of them.
func storeChanges(tx *database.Tx, changes []*Change) {
	var inserted, updated []Delivery
	var insertedOf, updatedOf []int64 // whose rows these are
	var deleted Pairs
	var gathered Places
	var progressed progressRows
	var further []database.Statement
	var now time.Time
	for _, c := range changes {
		no := c.Locked.No
		now = c.Now // they have the same
		for _, d := range c.inserted {
			inserted, insertedOf = append(inserted, d), append(insertedOf, no)
		}
		for _, d := range c.updated {
			updated, updatedOf = append(updated, d), append(updatedOf, no)
		}
		for _, number := range c.deleted {
			deleted.Add(no, number)
		}
		if c.intentNo != 0 {
			gathered.Add(no, c.intentNo, c.gatheredTo)
		}
		if after := c.Locked.storedProgress(); after != c.before {
			progressed.add(no, after)
		}
		further = append(further, c.further...)
	}
	tx.SendWithCommit(InsertDeliveries(tx, insertedOf, inserted, now)...)
	tx.SendWithCommit(updateDeliveries(tx, updatedOf, updated)...)
	tx.SendWithCommit(deleteDeliveries(tx, deleted)...)
	tx.SendWithCommit(gathered.Advance(tx)...)
	tx.SendWithCommit(progressed.update(tx)...)
	tx.SendWithCommit(further...)
}

// progressRows are the progress of several subscriptions, column by column.
type progressRows struct {
	nos, lastNumbers, offered, reserved []int64
	abandoned                           []string
	consumers, errors                   []*string
	until, postAt                       []*int64
}

func (r *progressRows) add(no int64, p storedProgress) {
	r.nos = append(r.nos, no)
	r.lastNumbers, r.offered = append(r.lastNumbers, p.lastNumber), append(r.offered, p.offeredThrough)
	r.reserved, r.abandoned = append(r.reserved, p.reservedThrough), append(r.abandoned, p.abandoned)
	r.consumers, r.until = append(r.consumers, database.NullText(p.consumer)), append(r.until, database.NullInt(p.consumerUntil))
	r.errors, r.postAt = append(r.errors, database.NullText(p.lastError)), append(r.postAt, database.NullInt(p.postAt))
}

func (r *progressRows) update(tx *database.Tx) []database.Statement {
	return tx.Update("subscriptions", []database.Column{{Name: "subscription_no", Values: r.nos}}, []database.Column{
		{Name: "last_number", Values: r.lastNumbers},
		{Name: "offered_through", Values: r.offered},
		{Name: "reserved_through", Values: r.reserved},
		{Name: "abandoned", Values: r.abandoned},
		{Name: "consumer", Values: r.consumers},
		{Name: "consumer_until", Values: r.until},
		{Name: "last_error", Values: r.errors},
		{Name: "post_at", Values: r.postAt},
	})
}
