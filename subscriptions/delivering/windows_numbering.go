package delivering

import (
	"context"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

// letWait lets entries wait in the windows, and numbers what is delivered now. Entries that do not lie after a position are messages that
// were recalled from a digest.
func letWait(c *record.Change, after int64, entries []reading.Entry) {
	open := waiting.Open(c.Locked.WindowRules(), c.Waits)
	var out []waiting.Group
	for _, entry := range entries {
		if entry.Position <= after && !open.Withdraw(entry.IntentNo, entry.Position) {
			continue // the digest was delivered meanwhile
		}
		out = append(out, open.Put(waitingEntry(entry), c.Now)...)
	}
	numberTogether(c, open, append(out, open.Release(c.Now)...))
}

// numberTogether gives deliveries that each stand for several places the next numbers, and stores what waits instead of what waited
// before.
func numberTogether(c *record.Change, open *waiting.Windows, out []waiting.Group) {
	for _, g := range out {
		newest := g.Messages[len(g.Messages)-1]
		c.Locked.LastNumber++
		d := record.Delivery{
			Number: c.Locked.LastNumber, IntentNo: newest.IntentNo, Position: newest.Position, ChannelNo: newest.ChannelNo,
			DueAt: record.AtOnce(c.Now),
		}
		if g.Digest || len(g.Messages) > 1 {
			d.Sources = &record.Sources{Digest: g.Digest}
			for _, w := range g.Messages {
				d.Sources.Places = append(d.Sources.Places, [2]int64{w.IntentNo, w.Position})
			}
		}
		c.Insert(d)
	}
	before, after := c.Waits, open.Waiting()
	c.Also(record.DeleteWaiting(c.Tx, c.Locked.No, without(before, after))...)
	c.Also(record.InsertWaiting(c.Tx, c.Locked.No, without(after, before))...)
}

// without returns the rows that are not among others. A message that was recalled from a digest is another row.
func without(rows, others []waiting.Message) (left []waiting.Message) {
	known := make(map[waiting.Message]struct{}, len(others))
	for _, w := range others {
		known[w] = struct{}{}
	}
	for _, w := range rows {
		if _, there := known[w]; !there {
			left = append(left, w)
		}
	}
	return left
}

// readWaiting reads what waits in a subscription.
func (s *Supplier) readWaiting(ctx context.Context, no int64) (rows []waiting.Message, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		return tx.Pipeline(record.PrepareWaiting(tx, []int64{no}, func(_ int64, w waiting.Message) { rows = append(rows, w) }))
	})
	return rows, err
}

// release numbers what has waited long enough, or everything that waits, for a consumer or for a fetch. next is when the next window
// ends.
func (s *Supplier) release(ctx context.Context, sub *record.Subscription, consumer string, everything bool) (next time.Time, err error) {
	rows, err := s.readWaiting(ctx, sub.No)
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	over := func(w *waiting.Windows, now time.Time) []waiting.Group {
		if everything {
			return w.ReleaseAll()
		}
		return w.Release(now)
	}
	open := waiting.Open(sub.WindowRules(), rows)
	if len(over(open, s.db.Now())) == 0 {
		return open.Next(), nil
	}
	err = s.changes.Change(ctx, sub.No, record.Wanted{Waiting: true}, func(c *record.Change) error {
		if !c.Locked.Active(c.Now) {
			return record.ErrEnded
		}
		if err := c.BeginNumbering(consumer); err != nil {
			return err
		}
		open = waiting.Open(c.Locked.WindowRules(), c.Waits)
		numberTogether(c, open, over(open, c.Now))
		return nil
	})
	return open.Next(), err
}
