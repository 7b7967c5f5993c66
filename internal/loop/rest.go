package loop

import (
	"context"
	"time"
)

// longestRest bounds a rest.
const longestRest = time.Second

// Rest leaves the database to others for a while, and at most for a second. Work that takes many pieces rests between them: for as long as
// a piece took, so that it has half of the time, or for longer to have less. If the context ends meanwhile, Rest returns its error.
func Rest(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(min(while, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
