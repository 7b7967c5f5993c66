package intents

import (
	"time"

	"openintent/internal/jsonvalue"
)

// Event is one entry of an intent's log. Its hash covers the exact object that clients see, including the hash of the event
// before it, so a log can be checked without trusting the store.
type Event struct {
	IntentNo      int64
	Position      int64 // in the intent's log; an audit copy shares the position of its message
	ID            string
	IntentID      string
	Type          string
	Actor         string
	Payload       jsonvalue.Object
	CreatedAt     time.Time
	Sequence      int64  // in the hash chain, from 1, without gaps
	PreviousHash  string // empty at sequence 1
	Hash          string
	Proof         jsonvalue.Object // absent when unset
	TraceID       string           // empty when unset
	ParentEventID string           // empty when unset
}

// Size returns how much of a page the event takes up, in bytes.
func (e *Event) Size() int { return len(e.Payload) + len(e.Proof) }

// wireTime is how times are written on the wire, always with six digits.
const wireTime = "2006-01-02T15:04:05.000000Z"
