package subscriptions

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
	"openintent/subscriptions/waiting"
)

// sources are the places for which one delivery stands, oldest first.
type sources struct {
	Digest bool `json:"digest,omitempty"`
	// Places are intents and positions.
	Places [][2]int64 `json:"places"`
}

// stored returns the sources as the database keeps them.
func (s *sources) stored() string {
	text, _ := json.Marshal(s) // numbers always have a JSON form
	return string(text)
}

// sourcesFrom reads what stored returned, and returns nil for a delivery of one place.
func sourcesFrom(stored string) (*sources, error) {
	if stored == "" {
		return nil, nil
	}
	s := new(sources)
	return s, json.Unmarshal([]byte(stored), s)
}

// prepareWaiting returns the statement that reads what waits in subscriptions. It calls a function with each message and the number of its
// subscription.
func prepareWaiting(tx *database.Tx, nos []int64, found func(no int64, w waiting.Message)) database.Statement {
	in, argument := tx.In("subscription_no", nos)
	return database.Statement{
		SQL: "SELECT subscription_no, intent_no, position, channel_no, thread_position, sender, digest, size, sent_at" +
			" FROM subscription_waiting WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var w waiting.Message
			var no, sentAt int64
			err := row.Scan(&no, &w.IntentNo, &w.Position, &w.ChannelNo, &w.Thread, &w.Sender, &w.Digest, &w.Size, &sentAt)
			w.SentAt = database.Time(sentAt)
			found(no, w)
			return err
		},
	}
}

// insertWaiting stores messages that wait.
func insertWaiting(tx *database.Tx, no int64, rows []waiting.Message) []database.Statement {
	n := len(rows)
	intentNos, positions, channelNos, threads := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	senders, digests, sizes, times := make([]string, n), make([]bool, n), make([]int64, n), make([]int64, n)
	for i, w := range rows {
		intentNos[i], positions[i], channelNos[i], threads[i] = w.IntentNo, w.Position, w.ChannelNo, w.Thread
		senders[i], digests[i], sizes[i], times[i] = w.Sender, w.Digest, w.Size, database.Micros(w.SentAt)
	}
	return tx.Insert("subscription_waiting",
		database.Column{Name: "subscription_no", Values: slices.Repeat([]int64{no}, n)},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "channel_no", Values: channelNos},
		database.Column{Name: "thread_position", Values: threads},
		database.Column{Name: "sender", Values: senders},
		database.Column{Name: "digest", Values: digests},
		database.Column{Name: "size", Values: sizes},
		database.Column{Name: "sent_at", Values: times},
	)
}

// deleteWaiting removes messages that wait no more.
func deleteWaiting(tx *database.Tx, no int64, rows []waiting.Message) []database.Statement {
	if len(rows) == 0 {
		return nil
	}
	intentNos, positions := make([]int64, len(rows)), make([]int64, len(rows))
	for i, w := range rows {
		intentNos[i], positions[i] = w.IntentNo, w.Position
	}
	in, args := tx.InRows(database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	return []database.Statement{{
		SQL: "DELETE FROM subscription_waiting WHERE subscription_no = ? AND " + in, Args: append([]any{no}, args...),
	}}
}

// dropWaiting returns a statement that removes everything that waits in a subscription, which is at most a window.
func dropWaiting(no int64) database.Statement {
	return database.Statement{SQL: "DELETE FROM subscription_waiting WHERE subscription_no = ?", Args: []any{no}}
}

// letWait lets entries wait in the windows, and numbers what is delivered now. Entries that do not lie after a position are messages that
// were recalled from a digest.
func (c *change) letWait(after int64, entries []reading.Entry) {
	open := waiting.Open(c.locked.windowRules(), c.waits)
	var out []waiting.Group
	for _, entry := range entries {
		if entry.Position <= after && !open.Withdraw(entry.IntentNo, entry.Position) {
			continue // the digest was delivered meanwhile
		}
		out = append(out, open.Put(waitingEntry(entry), c.now)...)
	}
	c.numberTogether(open, append(out, open.Release(c.now)...))
}

// numberTogether gives deliveries that each stand for several places the next numbers, and stores what waits instead of what waited
// before.
func (c *change) numberTogether(open *waiting.Windows, out []waiting.Group) {
	for _, g := range out {
		newest := g.Messages[len(g.Messages)-1]
		c.locked.lastNumber++
		d := delivery{
			number: c.locked.lastNumber, intentNo: newest.IntentNo, position: newest.Position, channelNo: newest.ChannelNo, dueAt: c.now,
		}
		if g.Digest || len(g.Messages) > 1 {
			d.sources = &sources{Digest: g.Digest}
			for _, w := range g.Messages {
				d.sources.Places = append(d.sources.Places, [2]int64{w.IntentNo, w.Position})
			}
		}
		c.insert(d)
	}
	before, after := c.waits, open.Waiting()
	c.also(deleteWaiting(c.tx, c.locked.no, without(before, after))...)
	c.also(insertWaiting(c.tx, c.locked.no, without(after, before))...)
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
func (s *Service) readWaiting(ctx context.Context, no int64) (rows []waiting.Message, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		return tx.Pipeline(prepareWaiting(tx, []int64{no}, func(_ int64, w waiting.Message) { rows = append(rows, w) }))
	})
	return rows, err
}

// release numbers what has waited long enough, or everything that waits, for a consumer or for a fetch. next is when the next window
// ends.
func (s *Service) release(ctx context.Context, sub *subscription, consumer string, everything bool) (next time.Time, err error) {
	rows, err := s.readWaiting(ctx, sub.no)
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	over := func(w *waiting.Windows, now time.Time) []waiting.Group {
		if everything {
			return w.ReleaseAll()
		}
		return w.Release(now)
	}
	open := waiting.Open(sub.windowRules(), rows)
	if len(over(open, s.db.Now())) == 0 {
		return open.Next(), nil
	}
	err = s.changes.change(ctx, sub.no, wanted{waiting: true}, func(c *change) error {
		if !c.locked.active(c.now) {
			return errEnded
		}
		if err := c.beginNumbering(consumer); err != nil {
			return err
		}
		open = waiting.Open(c.locked.windowRules(), c.waits)
		c.numberTogether(open, over(open, c.now))
		return nil
	})
	return open.Next(), err
}
