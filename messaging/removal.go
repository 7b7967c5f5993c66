package messaging

import (
	"context"
	"slices"
	"strconv"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/writing"
)

// doomed says which messages are deleted with a channel or an intent: those that meet a condition on m. An index serves the order.
//
// This file removes what nobody can see any more. Evicted messages have rules of their own (sweep_eviction.go).
type doomed struct {
	condition string
	arguments []any
	order     string
}

// scheduleRemoval leaves the removal of a deleted channel's messages to the sweep.
func (s *Service) scheduleRemoval(tx *database.Tx, head *intents.Head, key channels.Key) error {
	return writing.ScheduleWork(tx, writing.WorkRemoval, strconv.FormatInt(key.ChannelNo, 10), head.Now(), head.IntentNo)
}

// schedulePurge leaves the removal of an ended intent's messages to the sweep, for when the retention has passed.
func (s *Service) schedulePurge(tx *database.Tx, head *intents.Head, _ time.Time) error {
	return writing.ScheduleWork(tx, writing.WorkPurge, "", head.Now(), head.IntentNo)
}

// remove deletes doomed messages with everything recorded of them, a bounded number in each transaction, and ends the piece
// of work with the last. It finds them before it locks the intent, because doomed messages stay doomed.
func (s *Service) remove(ctx context.Context, w writing.Work, d doomed) error {
	for after := int64(0); ; {
		var positions []int64
		err := s.piecemeal(ctx, func() (err error) {
			positions, err = s.removeNext(ctx, w, d, after)
			return err
		})
		if err != nil || len(positions) == 0 {
			return err
		}
		after = positions[len(positions)-1]
	}
}

// removeNext deletes the next doomed messages after a position, or ends the piece of work if there are none, and returns their positions.
func (s *Service) removeNext(ctx context.Context, w writing.Work, d doomed, after int64) (positions []int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		positions, err = d.find(tx, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.clearMarks(ctx, w.IntentNo, positions); err != nil {
		return nil, err
	}
	return positions, s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, w.IntentNo)
		if err != nil {
			return err
		}
		if len(positions) == 0 {
			return s.concludeRemoval(tx, w, heads.Get(w.IntentNo))
		}
		return tx.Pipeline(s.deleteAt(tx, w.IntentNo, positions)...)
	})
}

// find returns the positions of the next doomed messages, in order.
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

// deleteAt removes messages with everything recorded of them.
func (s *Service) deleteAt(tx *database.Tx, intentNo int64, positions []int64) []database.Statement {
	if len(positions) == 0 {
		return nil
	}
	in, argument := tx.In("position", positions)
	var statements []database.Statement
	for _, table := range []string{
		"messages", "receipts", "open_requests", "evicted_requests", "offers", "dead_letters", "dispositions",
		"obligations", "documents",
	} {
		statements = append(statements, database.Statement{
			SQL: "DELETE FROM " + table + " WHERE intent_no = ? AND " + in, Args: []any{intentNo, argument},
		})
	}
	marked, arguments := inIntent(tx, intentNo, "message_position", positions)
	for _, table := range marksOfMessages {
		statements = append(statements, database.Statement{SQL: "DELETE FROM " + table + " WHERE " + marked, Args: arguments})
	}
	revised, arguments := inIntent(tx, intentNo, "position", positions)
	statements = append(statements, database.Statement{SQL: "DELETE FROM message_revisions WHERE " + revised, Args: arguments})
	for _, removed := range s.onRemoved {
		statements = append(statements, removed(intentNo, positions))
	}
	return append(statements, claim.DeletionWith(tx, intentNo, positions))
}

// concludeRemoval ends a piece of work whose messages are gone. Then nothing is left of a deleted channel, and nothing in a
// purged intent reaches anybody any more.
func (s *Service) concludeRemoval(tx *database.Tx, w writing.Work, head *intents.Head) error {
	if w.Kind == writing.WorkRemoval {
		key, err := w.Channel()
		if err != nil {
			return err
		}
		if err := tx.Pipeline(forgetMarks(key), writing.ForgetBrakesOf(key)); err != nil {
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
