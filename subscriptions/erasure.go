package subscriptions

import (
	"context"
	"errors"

	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// EraseOf deletes all subscriptions of an agent and its own log, with everything that they had to deliver, their addresses and their
// secrets. It counts those that it removed, among them ones that somebody has deleted and nobody has removed yet.
func (s *Service) EraseOf(ctx context.Context, agentID string) (count int64, err error) {
	for {
		var nos []int64
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValues(&nos,
				"SELECT subscription_no FROM subscriptions WHERE subscriber_id = ? ORDER BY subscription_no LIMIT ?", agentID, sweepBatch))
		})
		if err != nil || len(nos) == 0 {
			return count, err
		}
		for _, no := range nos {
			if err := s.hide(ctx, no); err != nil && !errors.Is(err, record.ErrNotFound) {
				return count, err
			}
			if err := s.remove(ctx, no); err != nil {
				return count, err
			}
			count++
		}
	}
}
