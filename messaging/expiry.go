package messaging

import (
	"context"
	"errors"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// sweepExpired stores the expiry of requests whose time ran out.
//
// Readers do not wait for it: message.Message.Expired decides by time, and message/expiry_store.go writes the rows. The other ends of
// requests are stored where they happen: by a departure (departure.go), by the closing of a channel (message.ExpireInChannels),
// and by an Ask whose time is over (answers.go).
func (s *Service) sweepExpired(ctx context.Context) error {
	for range sweepBatches {
		due, found, err := s.requestsIn(ctx, "open_requests", "expires_at")
		if err != nil || found == 0 {
			return err
		}
		for intentNo, positions := range due {
			err = errors.Join(err, s.piecemeal(ctx, func() error { return s.expireDue(ctx, intentNo, positions) }))
		}
		if err != nil || found < sweepBatch {
			return err
		}
	}
	return nil
}

// expireDue stores the expiry of those requests that are still open under the lock. One of them may have been answered
// meanwhile.
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
