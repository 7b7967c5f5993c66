package message

import (
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// AnnotationType says what happened to a message.
type AnnotationType string

// The annotation types.
const (
	AnnotationReaction    AnnotationType = "message_reaction"
	AnnotationEdit        AnnotationType = "message_edited"
	AnnotationDeletion    AnnotationType = "message_deleted"
	AnnotationClaim       AnnotationType = "message_claimed"
	AnnotationClaimEnd    AnnotationType = "claim_released"
	AnnotationDisposition AnnotationType = "message_disposition"
	AnnotationDischarge   AnnotationType = "obligation_discharged"
)

// The dispositions that follow from what an agent does: from an answer to a request, and from a claim of a message.
const (
	DispositionResponded = "responded"
	DispositionClaimed   = "claimed"
)

// AnnotationTypes are all of them.
var AnnotationTypes = []AnnotationType{
	AnnotationReaction, AnnotationEdit, AnnotationDeletion, AnnotationClaim, AnnotationClaimEnd, AnnotationDisposition, AnnotationDischarge,
}

// IsAnnotationType reports whether a name is that of an annotation type.
func IsAnnotationType(name string) bool {
	return slices.Contains(AnnotationTypes, AnnotationType(name))
}

// Annotation is something that happened to a message and has a place of its own in the intent's log. It is the third kind of
// entry, beside messages and logged events. It has no ordinal: it counts in no channel, evicts nothing and moves no time to live.
// Whoever may see the message now may see it, and it is removed with its message.
type Annotation struct {
	IntentNo, ChannelNo int64
	// Position is the annotation's own place in the intent's log, MessagePosition the place of its message.
	Position, MessagePosition int64
	// ID is the server's own mark of the annotation. Clients never see it.
	ID                   string
	MessageID, ChannelID string
	Type                 AnnotationType
	// AgentID is the agent that did it, or whose claim ended.
	AgentID   string
	CreatedAt time.Time
	Details   AnnotationDetails
	// Message is the message without its content, where the annotation was read: it decides who sees the annotation.
	Message *Message
}

// AnnotationDetails are the fields that only some types have. The database keeps them as one JSON object.
type AnnotationDetails struct {
	Change, Signal, Note, ETA string    `json:",omitempty"`
	Revision                  int       `json:",omitempty"`
	ExpiresAt                 time.Time `json:",omitzero"`
	Reason, Disposition       string    `json:",omitempty"`
	Until                     time.Time `json:",omitzero"`
	// For are the agents that the annotation is for beside those whom its message names: whoever holds a claim.
	For []string `json:",omitempty"`
}

// Encode returns the details as the database keeps them.
func (d AnnotationDetails) Encode() ([]byte, error) { return json.Marshal(d) }

// DecodeDetails reads what Encode returned.
func DecodeDetails(text []byte) (d AnnotationDetails, err error) {
	err = json.Unmarshal(text, &d)
	return d, err
}

// Size is how many bytes of a page the annotation takes up.
func (a *Annotation) Size() int {
	d := a.Details
	return 200 + len(a.AgentID) + len(d.Note) + len(d.ETA) + len(d.Reason)
}

// ToWire returns the annotation as clients see it.
func (a *Annotation) ToWire() *openintentv1.Annotation {
	d := a.Details
	wire := &openintentv1.Annotation{
		Type: string(a.Type), Position: a.Position, MessageId: a.MessageID, ChannelId: a.ChannelID, AgentId: a.AgentID,
		CreatedAt: timestamppb.New(a.CreatedAt),
		Change:    optional.Text(d.Change), Signal: optional.Text(d.Signal), Note: optional.Text(d.Note), Eta: optional.Text(d.ETA),
		ExpiresAt: optional.Time(d.ExpiresAt), Reason: optional.Text(d.Reason), Disposition: optional.Text(d.Disposition),
		Until: optional.Time(d.Until),
	}
	if d.Revision != 0 {
		revision := int32(d.Revision)
		wire.Revision = &revision
	}
	return wire
}

// WithoutWords removes the agent's own words from encoded details: the note and the time of a reaction, the note of a discharge,
// and the reason of a disposition. The reasons for which claims end are the server's words. changed is false if there are none.
func WithoutWords(details []byte) (without []byte, changed bool, err error) {
	d, err := DecodeDetails(details)
	if err != nil || d.Note == "" && d.ETA == "" && (d.Reason == "" || d.Disposition == "") {
		return details, false, err
	}
	if d.Note, d.ETA = "", ""; d.Disposition != "" {
		d.Reason = ""
	}
	without, err = d.Encode()
	return without, true, err
}
