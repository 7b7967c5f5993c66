package channels

import (
	"time"

	"openintent/intents"
)

// ClosedBy reports whether the channel is closed at the given time, and since when: by its stored closing, by the end of its
// intent, or because its time to live has run out. The time to live runs from the last message (or the creation), stops while
// the intent is suspended, and starts again when the intent resumes. The head, the count and the rules must come from one
// snapshot, or be read under one lock.
func (r *Rules) ClosedBy(count Count, head *intents.Head, now time.Time) (closedAt time.Time, closed bool) {
	if !r.ClosedAt.IsZero() {
		return r.ClosedAt, true
	}
	if head.Ended() {
		now = head.EndedAt
	}
	if deadline, lapsed := r.lapsedBy(count, head, now); lapsed {
		return deadline, true
	}
	return head.EndedAt, head.Ended()
}
