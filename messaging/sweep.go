package messaging

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"openintent/database"
	"openintent/intents"
)

const (
	// sweepBatch bounds what one transaction of the sweep touches, sweepTurn how many it makes of a kind in one turn.
	sweepBatch = 500
	sweepTurn  = 20
)

// Sweep makes lasting what reading already says, and removes what nobody can see any more: it expires requests whose time
// ran out, finishes departures and deletions that a crash interrupted, and deletes evicted messages (eviction.go), messages of
// intents that ended longer ago than the retention, and idempotency keys past their lifetime. Each step is a bounded
// transaction; one that fails does not keep the others from their turn.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(
		s.sweepWork(ctx, workDeparture, ""), // before what it is to tell of has expired for good
		s.sweepExpired(ctx),
		s.sweepWork(ctx, workRemoval, ""),
		s.sweepWork(ctx, workEviction, ""),
		s.sweepEvictedRequests(ctx),
		s.sweepWork(ctx, workPurge, ""),
		s.sweepKeys(ctx),
	)
}

// sweepWork finishes pending work of a kind, of one key or of all.
func (s *Service) sweepWork(ctx context.Context, kind, key string) error {
	for turn := 0; turn < sweepTurn; turn++ {
		pending, err := s.pendingWork(ctx, kind, key)
		if err != nil {
			return err
		}
		for _, w := range pending {
			if failed := s.finish(ctx, w); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s %q of intent %d: %w", w.kind, w.key, w.intentNo, failed))
			}
		}
		if err != nil || len(pending) < sweepBatch {
			return err
		}
	}
	return nil
}

func (s *Service) pendingWork(ctx context.Context, kind, key string) (pending []work, err error) {
	due := int64(math.MaxInt64)
	switch kind {
	case workPurge:
		due = database.Micros(s.db.Now().Add(-s.retention))
	case workEviction:
		due = database.Micros(s.db.Now())
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT kind, key, intent_no FROM pending_work WHERE kind = ? AND (? = '' OR key = ?) AND created_at <= ?" +
				" ORDER BY created_at, key, intent_no LIMIT ?",
			Args: []any{kind, key, key, due, sweepBatch},
			Scan: func(row database.Row) error {
				var w work
				err := row.Scan(&w.kind, &w.key, &w.intentNo)
				pending = append(pending, w)
				return err
			},
		})
	})
	return pending, err
}

func (s *Service) finish(ctx context.Context, w work) error {
	switch w.kind {
	case workDeparture:
		return s.depart(ctx, w)
	case workPurge:
		return s.remove(ctx, w, doomed{condition: "m.intent_no = ?", arguments: []any{w.intentNo}, order: "m.position"})
	}
	key, err := w.channel()
	if err != nil {
		return err
	}
	if w.kind == workRemoval {
		return s.remove(ctx, w, doomed{
			condition: "m.intent_no = ? AND m.channel_no = ?", arguments: []any{key.IntentNo, key.ChannelNo},
			order: "m.ordinal",
		})
	}
	return s.removeEvicted(ctx, w, key)
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

// remove deletes doomed messages with what is noted of each, a bounded number in each transaction, and ends the piece of work with
// the last. They are found before the intent is locked: what is doomed stays so.
func (s *Service) remove(ctx context.Context, w work, d doomed) error {
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
			heads, err := intents.Lock(tx, w.intentNo)
			if err != nil {
				return err
			}
			if len(positions) == 0 {
				return s.concludeRemoval(tx, w, heads.Get(w.intentNo))
			}
			return tx.Pipeline(deleteAt(tx, w.intentNo, positions)...)
		})
		if err != nil || len(positions) == 0 {
			return err
		}
		after = positions[len(positions)-1]
	}
}

// concludeRemoval ends a piece of work whose messages are gone; of a deleted channel nothing stays then, and in a purged
// intent nothing reaches anybody any more.
func (s *Service) concludeRemoval(tx *database.Tx, w work, head *intents.Head) error {
	if w.kind == workRemoval {
		key, err := w.channel()
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
	if w.kind == workPurge {
		if err := tx.Pipeline(forgetIntent(w.intentNo)...); err != nil {
			return err
		}
		if err := intents.MarkPurged(tx, head); err != nil {
			return err
		}
		for _, purged := range s.onPurged {
			if err := purged(tx, w.intentNo); err != nil {
				return err
			}
		}
	}
	return w.done(tx)
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

// sweepExpired makes the expiry of requests lasting whose time ran out.
func (s *Service) sweepExpired(ctx context.Context) error {
	for turn := 0; turn < sweepTurn; turn++ {
		due, found, err := s.requestsIn(ctx, "open_requests", "expires_at")
		if err != nil || found == 0 {
			return err
		}
		for intentNo, positions := range due {
			err = errors.Join(err, s.expireDue(ctx, intentNo, positions))
		}
		if err != nil || found < sweepBatch {
			return err
		}
	}
	return nil
}

// requestsIn reads from a table of requests those whose time has come, the longest due first.
func (s *Service) requestsIn(ctx context.Context, table, dueAt string) (due map[int64][]int64, found int, err error) {
	due = make(map[int64][]int64)
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT intent_no, position FROM " + table + " WHERE " + dueAt + " <= ? ORDER BY " + dueAt + " LIMIT ?",
			Args: []any{database.Micros(s.db.Now()), sweepBatch},
			Scan: func(row database.Row) error {
				var intentNo, position int64
				err := row.Scan(&intentNo, &position)
				due[intentNo] = append(due[intentNo], position)
				found++
				return err
			},
		})
	})
	return due, found, err
}

// expireDue expires those of the requests that are still open under the lock: one may have been answered meanwhile.
func (s *Service) expireDue(ctx context.Context, intentNo int64, positions []int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, intentNo)
		if err != nil {
			return err
		}
		head := heads.Get(intentNo)
		in, argument := tx.In("position", positions)
		var open []int64
		err = tx.Pipeline(database.Statement{
			SQL:  "SELECT position FROM open_requests WHERE intent_no = ? AND expires_at <= ? AND " + in,
			Args: []any{intentNo, database.Micros(head.Now()), argument},
			Scan: func(row database.Row) error {
				var position int64
				err := row.Scan(&position)
				open = append(open, position)
				return err
			},
		})
		if err != nil || len(open) == 0 {
			return err
		}
		return expireRequests(tx, head, open)
	})
}

// sweepKeys deletes idempotency keys that are past their lifetime.
func (s *Service) sweepKeys(ctx context.Context) error {
	oldest := database.Micros(s.db.Now().Add(-keyLifetime))
	for turn := 0; turn < sweepTurn; turn++ {
		var removed int64
		err := s.db.Write(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "DELETE FROM idempotency_keys WHERE (intent_no, sender, scope, key) IN" +
					" (SELECT intent_no, sender, scope, key FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT ?)",
				Args:     []any{oldest, sweepBatch},
				Affected: &removed,
			})
		})
		if err != nil || removed < sweepBatch {
			return err
		}
	}
	return nil
}
