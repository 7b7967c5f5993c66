package messaging

import (
	"context"
	"errors"
	"fmt"
	"math"

	"openintent/internal/database"
	"openintent/messaging/writing"
)

const (
	// sweepBatch bounds what one transaction of the sweep touches. sweepBatches is how many transactions it makes of each kind
	// in one run.
	sweepBatch   = 500
	sweepBatches = 20
)

// Sweep removes what nobody can see any more; beyond that, the sweep only persists what readers already see. It expires
// requests whose time ran out (expiry.go). It finishes departures (departure.go) and deletions (removal.go) that a crash
// interrupted. It deletes evicted messages (sweep_eviction.go), messages of intents that ended longer ago than the
// retention, and idempotency keys past their lifetime. Each step is a bounded transaction, after which the sweep rests (piecemeal),
// and a step that fails does not keep the others from theirs.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(
		s.sweepWork(ctx, writing.WorkDeparture, ""), // first, so that a departure tells of requests before the sweep has expired them
		s.sweepExpired(ctx),
		s.sweepWork(ctx, writing.WorkRemoval, ""),
		s.sweepWork(ctx, writing.WorkEviction, ""),
		s.sweepEvictedRequests(ctx),
		s.sweepWork(ctx, writing.WorkPurge, ""),
		s.sweepKeys(ctx),
		s.sweepBrakes(ctx),
	)
}

// piecemeal does one piece of a sweep's work, of at most one batch, and rests for as long as that took. So senders find the database free
// however much there is to sweep.
func (s *Service) piecemeal(ctx context.Context, piece func() error) error {
	began := s.db.Now()
	if err := piece(); err != nil {
		return err
	}
	return s.rest(ctx, s.db.Now().Sub(began))
}

// sweepWork finishes pending work of a kind, of one key or of all.
func (s *Service) sweepWork(ctx context.Context, kind, key string) error {
	for range sweepBatches {
		pending, err := s.pendingWork(ctx, kind, key)
		if err != nil {
			return err
		}
		for _, w := range pending {
			if failed := s.finish(ctx, w); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s %q of intent %d: %w", w.Kind, w.Key, w.IntentNo, failed))
			}
		}
		if err != nil || len(pending) < sweepBatch {
			return err
		}
	}
	return nil
}

func (s *Service) pendingWork(ctx context.Context, kind, key string) (pending []writing.Work, err error) {
	due := int64(math.MaxInt64)
	switch kind {
	case writing.WorkPurge:
		due = database.Micros(s.db.Now().Add(-s.retention))
	case writing.WorkEviction:
		due = database.Micros(s.db.Now())
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT kind, key, intent_no FROM pending_work WHERE kind = ? AND (? = '' OR key = ?) AND created_at <= ?" +
				" ORDER BY created_at, key, intent_no LIMIT ?",
			Args: []any{kind, key, key, due, sweepBatch},
			Scan: func(row database.Row) error {
				var w writing.Work
				err := row.Scan(&w.Kind, &w.Key, &w.IntentNo)
				pending = append(pending, w)
				return err
			},
		})
	})
	return pending, err
}

func (s *Service) finish(ctx context.Context, w writing.Work) error {
	switch w.Kind {
	case writing.WorkDeparture:
		return s.depart(ctx, w)
	case writing.WorkPurge:
		return s.remove(ctx, w, doomed{condition: "m.intent_no = ?", arguments: []any{w.IntentNo}, order: "m.position"})
	}
	key, err := w.Channel()
	if err != nil {
		return err
	}
	if w.Kind == writing.WorkRemoval {
		return s.remove(ctx, w, doomed{
			condition: "m.intent_no = ? AND m.channel_no = ?", arguments: []any{key.IntentNo, key.ChannelNo},
			order: "m.ordinal",
		})
	}
	return s.removeEvicted(ctx, w, key)
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

// sweepKeys deletes idempotency keys that are past their lifetime. The writer decides whether a key still holds
// (writing/idempotency.go), and does not wait for this.
func (s *Service) sweepKeys(ctx context.Context) error {
	oldest := database.Micros(s.db.Now().Add(-writing.KeyLifetime))
	for range sweepBatches {
		var removed int64
		err := s.piecemeal(ctx, func() error {
			return s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(deletionOfKeys(oldest, &removed)) })
		})
		if err != nil || removed < sweepBatch {
			return err
		}
	}
	return nil
}

// deletionOfKeys deletes the oldest keys that are older than a time, one batch of them.
func deletionOfKeys(oldest int64, removed *int64) database.Statement {
	return database.Statement{
		SQL: "DELETE FROM idempotency_keys WHERE (intent_no, sender, scope, key) IN" +
			" (SELECT intent_no, sender, scope, key FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT ?)",
		Args:     []any{oldest, sweepBatch},
		Affected: removed,
	}
}
