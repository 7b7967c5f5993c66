package loop

import (
	"context"
	"time"
)

// longestRest bounds a rest between portions of work.
const longestRest = time.Second

// Rest leaves the database to others for as long as a portion of work had it, so that much work takes twice as long and callers get
// their turns. It returns an error when the context ends.
func Rest(ctx context.Context, worked time.Duration) error {
	timer := time.NewTimer(min(worked, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
