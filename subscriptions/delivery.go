package subscriptions

import (
	"fmt"
	"time"
)

// delivery is one numbered row: a place in an intent's log whose content is to be delivered. The content is read when it is
// delivered.
type delivery struct {
	number   int64
	intentNo int64
	position int64
	// channelNo is a message's channel; 0 for a logged event.
	channelNo int64
	attempts  int64
	// dueAt is when it is delivered, or delivered again; zero in an agent's own log.
	dueAt time.Time
	// givenUpAt is set with the last attempt. At that time it becomes a dead letter unless it is acknowledged before.
	givenUpAt time.Time
	// deadAt and reason are set for dead letters.
	deadAt time.Time
	reason string
}

// due tells whether it is to be delivered now.
func (d *delivery) due(now time.Time) bool {
	return d.deadAt.IsZero() && d.givenUpAt.IsZero() && !now.Before(d.dueAt)
}

// attempted returns the delivery after one more attempt at a time.
func (d delivery) attempted(s *subscription, now time.Time) delivery {
	d.attempts++
	d.dueAt = now.Add(time.Duration(s.acknowledgeSeconds) * time.Second)
	if d.attempts >= s.maxAttempts {
		d.givenUpAt = d.dueAt
	}
	return d
}

// unacknowledged returns the reason for giving up a delivery that nobody acknowledged.
func unacknowledged(s *subscription, attempts int64) string {
	times := "attempts"
	if attempts == 1 {
		times = "attempt"
	}
	return fmt.Sprintf("not acknowledged within %d seconds after %d %s", s.acknowledgeSeconds, attempts, times)
}
