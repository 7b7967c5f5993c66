package intents

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"

	"openintent/internal/jsonvalue"
)

// computeHash returns "sha256:" and the unpadded base64url SHA-256 of the RFC 8785 form of the wire object without its
// hash. That form leaves unset members out, except the previous hash.
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
