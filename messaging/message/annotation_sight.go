package message

import (
	"slices"
	"time"
)

// This file says who sees an annotation: whoever may see its message. A deletion is told to those who could see the message when it was
// deleted, although a deleted request has expired and is shown to its recipients no more.

// Sight returns by what the rules of sight decide whether a viewer is shown the annotation at a time: usually the message, the viewer
// and the time as they are. For a deletion they are as they were just before it.
func (a *Annotation) Sight(v Viewer, now time.Time) (*Message, Viewer, time.Time) {
	if a.Type != AnnotationDeletion {
		return a.Message, v, now
	}
	m := a.undeleted()
	m.Abandoned = m.Target == v.Agent && v.Presence.DepartedAt.Before(a.CreatedAt) && m.AbandonedBy(v.Presence)
	v.Now = a.CreatedAt
	return m, v, a.CreatedAt
}

// undeleted returns the message as it was before its deletion, for the rules of sight. The deletion has ended it if nothing else had
// ended it by then.
func (a *Annotation) undeleted() *Message {
	m := *a.Message
	if !m.EndedAt.Before(a.endedBy()) {
		m.EndedAt = time.Time{}
		m.Open = m.Type == TypeRequest && m.AnsweredAt.IsZero()
	}
	return &m
}

// endedBy returns the time from which on the message's end came with the deletion or after it.
func (a *Annotation) endedBy() time.Time {
	if c := a.Message.Conversation; c != nil && !c.DeletedAt.IsZero() {
		return c.DeletedAt
	}
	return a.CreatedAt
}

// Concerns reports whether a durable subscription of the viewer, which may see the annotation, delivers it. The viewer's agent is the
// message's sender, its addressee or mentioned in it, or the annotation is for it. What changes a request to a role for all who hold the
// role also goes to each holder to whom the message was given. So a reaction to a message to everyone goes to few.
func (a *Annotation) Concerns(v Viewer) bool {
	m := a.Message
	return m.Sender == v.Agent || m.Target == v.Agent || slices.Contains(a.Details.For, v.Agent) ||
		m.Conversation != nil && slices.Contains(m.Conversation.Mentions, v.Agent) ||
		a.concernsRoles() && v.Presence.HoldsRole(RoleOf(m.Target))
}

// concernsRoles reports whether the annotation is for all holders of the role that its message addresses.
func (a *Annotation) concernsRoles() bool {
	switch a.Type {
	case AnnotationEdit, AnnotationDeletion, AnnotationClaim, AnnotationClaimEnd:
		return RoleOf(a.Message.Target) != ""
	}
	return false
}
