package loop

import (
	"context"
	"time"
)

// longestRest bounds a rest.
const longestRest = time.Second

// Rest leaves the database to others for as long as a piece of long work had it, and at most a second. Work that takes many pieces rests
// between them, so that it has half of the time. If the context ends meanwhile, Rest returns its error.
func Rest(ctx context.Context, worked time.Duration) error {
	timer := time.NewTimer(min(worked, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
