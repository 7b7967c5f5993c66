package subscriptions

import (
	"context"
	"errors"
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

const (
	// sweepBatch bounds how many rows one transaction touches. sweepBatches bounds how many transactions of one kind a sweep
	// runs.
	sweepBatch   = 500
	sweepBatches = 20
	// logKept is how long an agent's own log keeps its deliveries. An older cursor continues with the oldest delivery that is
	// kept.
	logKept = 24 * time.Hour
)

// Sweep gives up deliveries that nobody acknowledged. It removes what nobody can receive any more: the deliveries of ended and
// deleted subscriptions, and the old deliveries of agents' own logs. Each step is a bounded transaction. When a step fails, the
// others still run.
func (s *Service) Sweep(ctx context.Context) error {
	now := database.Micros(s.db.Now())
	const waiting = "SELECT DISTINCT d.subscription_no FROM subscription_deliveries d WHERE d.given_up_at IS NOT NULL AND d.dead_at IS NULL"
	return errors.Join(
		s.forEach(ctx, waiting+" AND d.given_up_at <= ?", s.giveUpAll, now),
		s.forEach(ctx, waiting+" AND d.given_up_at > ?", s.giveUpAll, record.Astray(s.db.Now())),
		s.forEach(ctx, `SELECT s.subscription_no FROM subscriptions s
			WHERE s.expires_at IS NOT NULL AND s.expires_at <= ? AND s.ended_at IS NULL`, s.end, now),
		s.forEach(ctx, `SELECT s.subscription_no FROM subscriptions s WHERE s.ended_at IS NOT NULL AND NOT s.cleared`, s.clear),
		s.forEach(ctx, `SELECT s.subscription_no FROM subscriptions s WHERE s.deleted_at IS NOT NULL`, s.remove),
		s.sweepLogs(ctx),
	)
}

// forEach calls a function for each subscription that a query finds, up to a bound.
func (s *Service) forEach(
	ctx context.Context, query string, do func(ctx context.Context, no int64) error, args ...any,
) error {
	var nos []int64
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  query + " LIMIT ?",
			Args: append(args, sweepBatch),
			Scan: func(row database.Row) error {
				var no int64
				err := row.Scan(&no)
				nos = append(nos, no)
				return err
			},
		})
	})
	for _, no := range nos {
		err = errors.Join(err, do(ctx, no))
	}
	return err
}

// giveUpAll gives up everything that is overdue in a subscription, even if nobody receives its deliveries.
func (s *Service) giveUpAll(ctx context.Context, no int64) error {
	for range sweepBatches {
		count, err := s.supplier.GiveUp(ctx, no)
		if errors.Is(err, record.ErrNotFound) {
			return nil // it was deleted, and is removed instead
		}
		if err != nil || count < delivering.OfferPage {
			return err
		}
	}
	return nil
}

// end stores that a subscription has expired.
func (s *Service) end(ctx context.Context, no int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE subscriptions SET ended_at = expires_at WHERE subscription_no = ? AND ended_at IS NULL",
			Args: []any{no},
		})
	})
}

// endSubscriptions ends the subscriptions of a departed agent. It locks them in the order that everyone uses to lock several.
// The agent's own log continues, because the agent has no other if it comes back or continues without being registered.
func endSubscriptions(tx *database.Tx, agentID string, at time.Time) error {
	return tx.Pipeline(database.Statement{
		SQL: "SELECT subscription_no FROM subscriptions WHERE subscriber_id = ? AND name <> ? AND ended_at IS NULL" +
			" ORDER BY subscription_no" + tx.ForUpdate(),
		Args: []any{agentID, record.OwnName},
	}, database.Statement{
		SQL:  "UPDATE subscriptions SET ended_at = ? WHERE subscriber_id = ? AND name <> ? AND ended_at IS NULL",
		Args: []any{database.Micros(at), agentID, record.OwnName},
	})
}

// clear removes the deliveries that an ended subscription still had to make. Its dead letters can still be read.
func (s *Service) clear(ctx context.Context, no int64) error {
	return s.inPieces(ctx, no, "dead_at IS NULL", database.Statement{
		SQL: "DELETE FROM subscription_positions WHERE subscription_no = ?", Args: []any{no},
	}, record.DropWaiting(no), database.Statement{
		SQL: "UPDATE subscriptions SET cleared = ?, post_at = NULL WHERE subscription_no = ?", Args: []any{true, no},
	})
}

// remove removes all rows of a deleted subscription.
func (s *Service) remove(ctx context.Context, no int64) error {
	return s.inPieces(ctx, no, "1 = 1", database.Statement{
		SQL: "DELETE FROM subscription_positions WHERE subscription_no = ?", Args: []any{no},
	}, record.DropWaiting(no), database.Statement{
		SQL: "DELETE FROM subscriptions WHERE subscription_no = ?", Args: []any{no},
	})
}

// inPieces deletes a subscription's deliveries that meet a condition, a bounded number in each transaction. The last
// transaction also runs the concluding statements. Nobody adds a delivery meanwhile, because every writer sees that the
// subscription has ended.
func (s *Service) inPieces(ctx context.Context, no int64, condition string, conclude ...database.Statement) error {
	for done := false; !done; {
		err := s.db.Write(ctx, func(tx *database.Tx) error {
			var removed int64
			err := tx.Pipeline(database.Statement{
				SQL:  "SELECT subscription_no FROM subscriptions WHERE subscription_no = ?" + tx.ForUpdate(),
				Args: []any{no},
			}, database.Statement{
				SQL: "DELETE FROM subscription_deliveries WHERE subscription_no = ? AND number IN (SELECT number" +
					" FROM subscription_deliveries WHERE subscription_no = ? AND " + condition + " ORDER BY number LIMIT ?)",
				Args:     []any{no, no, sweepBatch},
				Affected: &removed,
			})
			if done = removed < sweepBatch; err != nil || !done {
				return err
			}
			return tx.Pipeline(conclude...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepLogs removes deliveries that agents' own logs have kept long enough.
func (s *Service) sweepLogs(ctx context.Context) error {
	oldest := database.Micros(s.db.Now().Add(-logKept))
	for range sweepBatches {
		var removed int64
		err := s.db.Write(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "DELETE FROM subscription_deliveries WHERE (subscription_no, number) IN (SELECT subscription_no, number" +
					" FROM subscription_deliveries WHERE due_at IS NULL AND gathered_at < ? ORDER BY gathered_at LIMIT ?)",
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

// dropPurged removes the dead letters of an intent whose messages are purged. It also removes the positions that wide
// subscriptions have in that intent, because they no longer gather from it. Deliveries that still wait are skipped when they
// are due.
func dropPurged(tx *database.Tx, intentNo int64) error {
	return tx.Pipeline(database.Statement{
		SQL:  "DELETE FROM subscription_deliveries WHERE intent_no = ? AND dead_at IS NOT NULL AND channel_no IS NOT NULL",
		Args: []any{intentNo},
	}, database.Statement{
		SQL: "DELETE FROM subscription_positions WHERE intent_no = ? AND subscription_no IN" +
			" (SELECT s.subscription_no FROM subscriptions s WHERE s.intent_no IS NULL)",
		Args: []any{intentNo},
	})
}
