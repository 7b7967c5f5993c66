package subscriptions

import (
	"context"
	"time"

	"openintent/internal/loop"
)

// KeepConsumers renews the leases of the streams that are open, because a test has moved the clock: no time has passed for their clients.
func (s *Service) KeepConsumers(ctx context.Context) error { return s.supplier.Renew(ctx) }

// PostNow posts to webhooks what is due, because a test has moved the clock, and returns when the posts were made.
func (s *Service) PostNow(ctx context.Context) error {
	if err := s.polling.Run(ctx); err != nil {
		return err
	}
	for s.poster.ExamineDue(); ; {
		if _, busy := s.poster.Resting(); busy == 0 {
			return nil
		}
		if err := loop.Rest(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
