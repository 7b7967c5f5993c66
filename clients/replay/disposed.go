package replay

import (
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// trace is something that the agent did with a message. What it did last counts.
type trace struct {
	// by says what it did, so that the same thing done again, or taken back, is found.
	by, disposition string
}

// disposals are what the agent did with messages, by their ids.
type disposals map[string][]trace

// did notes that the agent did something with a message. Without a disposition it has taken that back.
func (d disposals) did(id string, what trace) {
	left := slices.DeleteFunc(d[id], func(t trace) bool { return t.by == what.by })
	if what.disposition != "" {
		left = append(left, what)
	}
	d[id] = left
}

// of returns what became of a message; empty if the agent did nothing with it.
func (d disposals) of(id string) string {
	if all := d[id]; len(all) > 0 {
		return all[len(all)-1].disposition
	}
	return ""
}

// answered notes the agent's answer to a request.
func (d disposals) answered(m *message.Message) {
	if m.CorrelationID != "" {
		d.did(m.CorrelationID, trace{"answer", message.DispositionResponded})
	}
}

// annotated notes what the agent did by an annotation.
func (d disposals) annotated(a *openintentv1.Annotation) {
	switch message.AnnotationType(a.GetType()) {
	case message.AnnotationDisposition:
		d.did(a.GetMessageId(), trace{"word", a.GetDisposition()})
	case message.AnnotationClaim:
		d.did(a.GetMessageId(), trace{"claim", message.DispositionClaimed})
	case message.AnnotationClaimEnd:
		d.did(a.GetMessageId(), trace{by: "claim"})
	case message.AnnotationReaction:
		set := trace{by: "signal " + a.GetSignal()}
		if a.GetChange() == "added" {
			set.disposition = reaction.Disposition(a.GetSignal())
		}
		d.did(a.GetMessageId(), set)
	}
}
