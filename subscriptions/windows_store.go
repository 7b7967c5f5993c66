package subscriptions

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"openintent/database"
	"openintent/messaging/reading"
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

// prepareWaiting returns the statement that reads what waits in a subscription, and where it puts that.
func prepareWaiting(no int64) (*[]waiting, database.Statement) {
	found := new([]waiting)
	return found, database.Statement{
		SQL: "SELECT intent_no, position, channel_no, thread_position, sender, digest, size, sent_at FROM subscription_waiting" +
			" WHERE subscription_no = ?",
		Args: []any{no},
		Scan: func(row database.Row) error {
			var w waiting
			var sentAt int64
			err := row.Scan(&w.intentNo, &w.position, &w.channelNo, &w.thread, &w.sender, &w.digest, &w.size, &sentAt)
			w.sentAt = database.Time(sentAt)
			*found = append(*found, w)
			return err
		},
	}
}

// insertWaiting stores messages that wait.
func insertWaiting(tx *database.Tx, no int64, rows []waiting) []database.Statement {
	n := len(rows)
	intentNos, positions, channelNos, threads := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	senders, digests, sizes, times := make([]string, n), make([]bool, n), make([]int64, n), make([]int64, n)
	for i, w := range rows {
		intentNos[i], positions[i], channelNos[i], threads[i] = w.intentNo, w.position, w.channelNo, w.thread
		senders[i], digests[i], sizes[i], times[i] = w.sender, w.digest, w.size, database.Micros(w.sentAt)
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
func deleteWaiting(tx *database.Tx, no int64, rows []waiting) []database.Statement {
	if len(rows) == 0 {
		return nil
	}
	intentNos, positions := make([]int64, len(rows)), make([]int64, len(rows))
	for i, w := range rows {
		intentNos[i], positions[i] = w.intentNo, w.position
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

// letWait lets entries wait in the windows of a locked subscription, and numbers what is delivered now. before is what waited. Entries
// that do not lie after a position are messages that were recalled from a digest.
func letWait(
	tx *database.Tx, locked *subscription, before []waiting, after int64, entries []reading.Entry, now time.Time,
) {
	inOrder(before)
	open := windowsOf(locked, before)
	var out []together
	for _, entry := range entries {
		if entry.Position <= after && !open.withdraw(entry.IntentNo, entry.Position) {
			continue // the digest was delivered meanwhile
		}
		out = append(out, open.put(entry, now)...)
	}
	numberTogether(tx, locked, before, open, append(out, open.release(now)...), now)
}

// numberTogether gives deliveries that each stand for several places the subscription's next numbers, and stores what waits instead of
// what waited before.
func numberTogether(tx *database.Tx, locked *subscription, before []waiting, open *windows, out []together, now time.Time) {
	rows := make([]delivery, len(out))
	for i, t := range out {
		newest := t.rows[len(t.rows)-1]
		rows[i] = delivery{
			number: locked.lastNumber + int64(i) + 1, intentNo: newest.intentNo, position: newest.position,
			channelNo: newest.channelNo, dueAt: now,
		}
		if t.digest || len(t.rows) > 1 {
			rows[i].sources = &sources{Digest: t.digest}
			for _, w := range t.rows {
				rows[i].sources.Places = append(rows[i].sources.Places, [2]int64{w.intentNo, w.position})
			}
		}
	}
	after := open.rows()
	tx.SendWithCommit(deleteWaiting(tx, locked.no, without(before, after))...)
	tx.SendWithCommit(insertWaiting(tx, locked.no, without(after, before))...)
	tx.SendWithCommit(insertDeliveries(tx, slices.Repeat([]int64{locked.no}, len(rows)), rows, now)...)
	locked.lastNumber += int64(len(rows))
}

// without returns the rows that are not among others. A message that was recalled from a digest is another row.
func without(rows, others []waiting) (left []waiting) {
	known := make(map[waiting]struct{}, len(others))
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
func (s *Service) readWaiting(ctx context.Context, no int64) (rows []waiting, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		found, read := prepareWaiting(no)
		err := tx.Pipeline(read)
		rows = *found
		return err
	})
	inOrder(rows)
	return rows, err
}

// release numbers what has waited long enough, or everything that waits, for a consumer or for a fetch. next is when the next window
// ends.
func (s *Service) release(ctx context.Context, sub *subscription, consumer string, everything bool) (next time.Time, err error) {
	rows, err := s.readWaiting(ctx, sub.no)
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	over := func(w *windows, now time.Time) []together {
		return w.take(func(t together) bool { return everything || w.ended(t, now) })
	}
	open := windowsOf(sub, rows)
	if len(over(open, s.db.Now())) == 0 {
		return open.next(), nil
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		before, read := prepareWaiting(sub.no)
		locked, now, err := lock(tx, sub.no, read)
		switch {
		case err != nil:
			return err
		case !locked.active(now):
			return errEnded
		}
		if err := locked.beginNumbering(tx, consumer, now); err != nil {
			return err
		}
		inOrder(*before)
		open = windowsOf(locked, *before)
		numberTogether(tx, locked, *before, open, over(open, now), now)
		tx.SendWithCommit(setNumbers(locked))
		return nil
	})
	return open.next(), err
}
