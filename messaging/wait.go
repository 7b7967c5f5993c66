package messaging

import "time"

// wait is how long a call waits: until a time of the store's clock. When that clock is set back, the end of the wait moves
// back with it, because a caller waits for as long as it asked for, whatever becomes of the clock.
type wait struct{ until, looked time.Time }

// remaining tells how much of the wait is left when the clock shows a time. A call asks it again each time it wakes.
func (w *wait) remaining(now time.Time) time.Duration {
	if back := w.looked.Sub(now); !w.looked.IsZero() && back > 0 {
		w.until = w.until.Add(-back)
	}
	w.looked = now
	return w.until.Sub(now)
}
