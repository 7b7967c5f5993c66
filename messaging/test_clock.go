package messaging

import (
	"context"
	"time"

	"openintent/internal/loop"
)

// LookNow asks everyone who waits here to look again, because a test has moved the clock, and returns when they have looked. It returns the
// context's error if that ends earlier, because a client reads nothing.
func (s *Service) LookNow(ctx context.Context) error {
	for roused := s.hub.RouseAll(); !roused.Resting(); {
		if err := loop.Rest(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return s.offers.loop.Run(ctx)
}
