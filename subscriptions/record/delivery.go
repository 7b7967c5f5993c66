package record

import (
	"fmt"
	"time"

	"openintent/internal/database"
	"openintent/internal/webhooks"
)

// longestWait is the longest that a delivery can have to wait for its next attempt, or for the end of its last one. A consumer has at
// most as long to acknowledge it. What seems to wait longer got its time before the clock was set back, and waits no more.
const longestWait = webhooks.MaxBackoff + ClockSkew

// Delivery is one numbered row: a place in an intent's log whose content the server must deliver. It reads the content when it
// makes the delivery.
type Delivery struct {
	Number   int64
	IntentNo int64
	Position int64
	// ChannelNo is the channel of the message or annotation; it is 0 for a logged event.
	ChannelNo int64
	Attempts  int64
	// DueAt is when the delivery is to be made, or made again; it is zero in an agent's own log.
	DueAt time.Time
	// givenUpAt is set with the last attempt. At that time the delivery becomes a dead letter, unless it is acknowledged
	// before.
	givenUpAt time.Time
	// DeadAt and Reason are set for dead letters.
	DeadAt time.Time
	Reason string
	// Sources are set if the delivery stands for several messages or is a digest. The place above is then that of the newest one.
	Sources *Sources
}

// IsDigest reports whether the delivery is a digest.
func (d *Delivery) IsDigest() bool { return d.Sources != nil && d.Sources.Digest }

// Places returns the delivery's places: one, or those for which it stands.
func (d *Delivery) Places() [][2]int64 {
	if d.Sources != nil {
		return d.Sources.Places
	}
	return [][2]int64{{d.IntentNo, d.Position}}
}

// Messages returns the places of the messages among them, or of an annotation; a logged event has none.
func (d *Delivery) Messages() [][2]int64 {
	if d.ChannelNo == 0 {
		return nil
	}
	return d.Places()
}

// Due reports whether the delivery is to be made now.
func (d *Delivery) Due(now time.Time) bool {
	return d.DeadAt.IsZero() && d.givenUpAt.IsZero() && hasCome(d.DueAt, now)
}

// ToBeGivenUp reports whether the time to acknowledge the last attempt is over.
func (d *Delivery) ToBeGivenUp(now time.Time) bool {
	return d.DeadAt.IsZero() && !d.givenUpAt.IsZero() && hasCome(d.givenUpAt, now)
}

// hasCome reports whether the end of a wait has come. HasComeIn is the same in SQL.
func hasCome(end, now time.Time) bool { return !now.Before(end) || end.Sub(now) > longestWait }

// HasComeIn returns the condition that the end of a wait in a column has come, and its arguments. It is false without an end.
func HasComeIn(column string, now time.Time) (condition string, args []any) {
	return "(" + column + " <= ? OR " + column + " > ?)", []any{database.Micros(now), Astray(now)}
}

// Astray returns the time, as it is stored, beyond which the end of a wait dates from before the clock was set back.
func Astray(now time.Time) int64 { return database.Micros(now.Add(longestWait)) }

// AtOnce returns a due time that has come on every replica. A decision has the database's time, and whoever looks for what is due may have a
// clock that is a little behind it: that look would find nothing, take the subscription for empty, and send what is newer.
func AtOnce(now time.Time) time.Time { return now.Add(-ClockSkew) }

// Attempted returns the delivery after one more attempt at the time now.
func (d Delivery) Attempted(s *Subscription, now time.Time) Delivery {
	d.Attempts++
	d.DueAt = now.Add(s.AcknowledgeTime())
	if d.Attempts >= s.MaxAttempts {
		d.givenUpAt = d.DueAt
	}
	return d
}

// Unacknowledged returns the reason for giving up a delivery that nobody acknowledged.
func Unacknowledged(s *Subscription, attempts int64) string {
	times := "attempts"
	if attempts == 1 {
		times = "attempt"
	}
	return fmt.Sprintf("not acknowledged within %d seconds after %d %s", s.AcknowledgeSeconds, attempts, times)
}

// Earliest returns the earlier one of two times, either of which may be unset.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Last returns the last of sorted numbers, or 0 if there are none.
func Last(numbers []int64) int64 {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[len(numbers)-1]
}
