package subscriptions

import (
	"fmt"
	"time"

	"openintent/internal/database"
	"openintent/internal/webhooks"
)

// longestWait is the longest that a delivery can have to wait for its next attempt, or for the end of its last one. A consumer has at
// most as long to acknowledge it. What seems to wait longer got its time before the clock was set back, and waits no more.
const longestWait = webhooks.MaxBackoff + clockSkew

// delivery is one numbered row: a place in an intent's log whose content the server must deliver. It reads the content when it
// makes the delivery.
type delivery struct {
	number   int64
	intentNo int64
	position int64
	// channelNo is the channel of the message or annotation; it is 0 for a logged event.
	channelNo int64
	attempts  int64
	// dueAt is when the delivery is to be made, or made again; it is zero in an agent's own log.
	dueAt time.Time
	// givenUpAt is set with the last attempt. At that time the delivery becomes a dead letter, unless it is acknowledged
	// before.
	givenUpAt time.Time
	// deadAt and reason are set for dead letters.
	deadAt time.Time
	reason string
	// sources are set if the delivery stands for several messages or is a digest. The place above is then that of the newest one.
	sources *sources
}

// isDigest reports whether the delivery is a digest.
func (d *delivery) isDigest() bool { return d.sources != nil && d.sources.Digest }

// places returns the delivery's places: one, or those for which it stands.
func (d *delivery) places() [][2]int64 {
	if d.sources != nil {
		return d.sources.Places
	}
	return [][2]int64{{d.intentNo, d.position}}
}

// messages returns the places of the messages among them, or of an annotation; a logged event has none.
func (d *delivery) messages() [][2]int64 {
	if d.channelNo == 0 {
		return nil
	}
	return d.places()
}

// due reports whether the delivery is to be made now.
func (d *delivery) due(now time.Time) bool {
	return d.deadAt.IsZero() && d.givenUpAt.IsZero() && hasCome(d.dueAt, now)
}

// toBeGivenUp reports whether the time to acknowledge the last attempt is over.
func (d *delivery) toBeGivenUp(now time.Time) bool {
	return d.deadAt.IsZero() && !d.givenUpAt.IsZero() && hasCome(d.givenUpAt, now)
}

// hasCome reports whether the end of a wait has come. hasComeIn is the same in SQL.
func hasCome(end, now time.Time) bool { return !now.Before(end) || end.Sub(now) > longestWait }

// hasComeIn returns the condition that the end of a wait in a column has come, and its arguments. It is false without an end.
func hasComeIn(column string, now time.Time) (condition string, args []any) {
	return "(" + column + " <= ? OR " + column + " > ?)", []any{database.Micros(now), astray(now)}
}

// astray returns the time, as it is stored, beyond which the end of a wait dates from before the clock was set back.
func astray(now time.Time) int64 { return database.Micros(now.Add(longestWait)) }

// attempted returns the delivery after one more attempt at the time now.
func (d delivery) attempted(s *subscription, now time.Time) delivery {
	d.attempts++
	d.dueAt = now.Add(s.acknowledgeTime())
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
