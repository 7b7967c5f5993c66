package messaging

import (
	"context"
	"slices"
	"strconv"
	"time"

	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/writing"
)

// scheduleRemoval leaves the messages of a deleted channel to be removed in pieces.
func (s *Service) scheduleRemoval(tx *database.Tx, head *intents.Head, key channels.Key) error {
	return writing.ScheduleWork(tx, writing.WorkRemoval, strconv.FormatInt(key.ChannelNo, 10), head.Now(), head.IntentNo)
}

// schedulePurge leaves the messages of an ended intent to be removed once the retention has passed.
func (s *Service) schedulePurge(tx *database.Tx, head *intents.Head, _ time.Time) error {
	return writing.ScheduleWork(tx, writing.WorkPurge, "", head.Now(), head.IntentNo)
}

// remove deletes doomed messages with what is noted of each, a bounded number in each transaction, and ends the piece of work with
// the last. They are found before the intent is locked: what is doomed stays so.
func (s *Service) remove(ctx context.Context, w writing.Work, d doomed) error {
	for after := int64(0); ; {
		var positions []int64
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
			positions, err = d.find(tx, after)
			return err
		})
		if err != nil {
			return err
		}
		err = s.db.Write(ctx, func(tx *database.Tx) error {
			heads, err := intents.Lock(tx, w.IntentNo)
			if err != nil {
				return err
			}
			if len(positions) == 0 {
				return s.concludeRemoval(tx, w, heads.Get(w.IntentNo))
			}
			return tx.Pipeline(deleteAt(tx, w.IntentNo, positions)...)
		})
		if err != nil || len(positions) == 0 {
			return err
		}
		after = positions[len(positions)-1]
	}
}

// concludeRemoval ends a piece of work whose messages are gone; of a deleted channel nothing stays then, and in a purged
// intent nothing reaches anybody any more.
func (s *Service) concludeRemoval(tx *database.Tx, w writing.Work, head *intents.Head) error {
	if w.Kind == writing.WorkRemoval {
		key, err := w.Channel()
		if err != nil {
			return err
		}
		if err := tx.Pipeline(forgetMarks(key)); err != nil {
			return err
		}
		if err := s.channels.Remove(tx, key); err != nil {
			return err
		}
	}
	if w.Kind == writing.WorkPurge {
		if err := tx.Pipeline(forgetIntent(w.IntentNo)...); err != nil {
			return err
		}
		if err := intents.MarkPurged(tx, head); err != nil {
			return err
		}
		for _, purged := range s.onPurged {
			if err := purged(tx, w.IntentNo); err != nil {
				return err
			}
		}
	}
	return w.Done(tx)
}

// doomed are messages to be deleted: those that meet a condition on m, which the index of the order serves.
type doomed struct {
	condition string
	arguments []any
	order     string
}

// find gives the positions of the next ones, in order.
func (d doomed) find(tx *database.Tx, after int64) (positions []int64, err error) {
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT m.position FROM messages m WHERE " + d.condition +
			" AND m.position > ? ORDER BY " + d.order + " LIMIT ?",
		Args: append(slices.Clone(d.arguments), after, sweepBatch),
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			positions = append(positions, position)
			return err
		},
	})
	return positions, err
}

// deleteAt removes messages with what is noted of each.
func deleteAt(tx *database.Tx, intentNo int64, positions []int64) []database.Statement {
	if len(positions) == 0 {
		return nil
	}
	in, argument := tx.In("position", positions)
	var statements []database.Statement
	for _, table := range []string{"messages", "receipts", "open_requests", "evicted_requests", "offers", "dead_letters"} {
		statements = append(statements, database.Statement{
			SQL: "DELETE FROM " + table + " WHERE intent_no = ? AND " + in, Args: []any{intentNo, argument},
		})
	}
	return statements
}
