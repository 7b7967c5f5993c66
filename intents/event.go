package intents

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"openintent/jsonvalue"
)

// Event is one entry of an intent's log. Its hash covers the exact object that clients see, and the hash of the event
// before it, so that a log can be checked without trusting the store.
type Event struct {
	IntentNo      int64
	Position      int64 // in the intent's log; an audit copy shares its message's
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

// Size is how much of a page the event takes up, in bytes.
func (e *Event) Size() int { return len(e.Payload) + len(e.Proof) }

// wireTime is how times are written on the wire, always with six digits.
const wireTime = "2006-01-02T15:04:05.000000Z"

// computeHash gives "sha256:" and the unpadded base64url SHA-256 of the RFC 8785 form of the wire object without its
// hash. Unset members are left out of it, except the previous hash.
func (e *Event) computeHash() (string, error) {
	var wire jsonvalue.Builder
	wire.String("actor", e.Actor)
	wire.String("created_at", e.CreatedAt.UTC().Format(wireTime))
	wire.String("event_type", e.Type)
	wire.String("id", e.ID)
	wire.String("intent_id", e.IntentID)
	if e.ParentEventID != "" {
		wire.String("parent_event_id", e.ParentEventID)
	}
	wire.Raw("payload", e.Payload)
	if e.PreviousHash == "" {
		wire.Null("previous_event_hash")
	} else {
		wire.String("previous_event_hash", e.PreviousHash)
	}
	if !e.Proof.IsNull() {
		wire.Raw("proof", e.Proof)
	}
	wire.Raw("sequence", strconv.AppendInt(nil, e.Sequence, 10))
	if e.TraceID != "" {
		wire.String("trace_id", e.TraceID)
	}
	canonical, err := jsonvalue.Canonical(wire.Object())
	if err != nil {
		return "", fmt.Errorf("canonical form of event: %w", err)
	}
	digest := sha256.Sum256(canonical)
	return "sha256:" + base64.RawURLEncoding.EncodeToString(digest[:]), nil
}
