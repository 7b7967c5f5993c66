package messaging

import (
	"context"
	"errors"

	"openintent/database"
	"openintent/intents"
	"openintent/messaging/message"
)

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
		return message.ExpireRequests(tx, head, open)
	})
}
