package openintent

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Annotation is something that happened to a message.
type Annotation struct {
	// Type is "message_reaction", "message_edited", "message_deleted", "message_claimed", "claim_released", "message_disposition" or
	// "obligation_discharged".
	Type                 string
	MessageID, ChannelID string
	// AgentID did it, or is the agent whose claim ended.
	AgentID   string
	Position  int64
	CreatedAt time.Time
	// Change is "added" or "removed", and Signal, Note and ETA are the signal and what stands beside it: of a reaction.
	Change, Signal, Note, ETA string
	// Revision is the number of the new revision of an edited message.
	Revision int
	// ExpiresAt is when a claim ends unless it is renewed.
	ExpiresAt time.Time
	// Reason is why a claim ended, or of a disposition; Until is until when a message is deferred.
	Reason      string
	Disposition Disposition
	Until       time.Time
}

// Event is what a followed channel yields: a message or an annotation.
type Event struct {
	Message    *Message
	Annotation *Annotation
}

func annotationOf(a *openintentv1.Annotation) *Annotation {
	return &Annotation{
		Type: a.GetType(), MessageID: a.GetMessageId(), ChannelID: a.GetChannelId(), AgentID: a.GetAgentId(), Position: a.GetPosition(),
		CreatedAt: timeOf(a.GetCreatedAt()), Change: a.GetChange(), Signal: a.GetSignal(), Note: a.GetNote(), ETA: a.GetEta(),
		Revision: int(a.GetRevision()), ExpiresAt: timeOf(a.GetExpiresAt()), Reason: a.GetReason(),
		Disposition: Disposition(a.GetDisposition()), Until: timeOf(a.GetUntil()),
	}
}
