package record

import (
	"slices"

	"openintent/internal/database"
	"openintent/subscriptions/waiting"
)

// PrepareWaiting returns the statement that reads what waits in subscriptions. It calls a function with each message and the number of its
// subscription.
func PrepareWaiting(tx *database.Tx, nos []int64, found func(no int64, w waiting.Message)) database.Statement {
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

// InsertWaiting stores messages that wait.
func InsertWaiting(tx *database.Tx, no int64, rows []waiting.Message) []database.Statement {
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

// DeleteWaiting removes messages that wait no more.
func DeleteWaiting(tx *database.Tx, no int64, rows []waiting.Message) []database.Statement {
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

// DropWaiting returns a statement that removes everything that waits in a subscription, which is at most a window.
func DropWaiting(no int64) database.Statement {
	return database.Statement{SQL: "DELETE FROM subscription_waiting WHERE subscription_no = ?", Args: []any{no}}
}
