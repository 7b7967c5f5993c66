package message

import (
	"time"

	"openintent/agents"
)

// Expired reports whether the message's time ran out before anybody read it or, if it is a request, before anybody answered
// it. It judges by time: it does not matter whether the sweep has stored the expiry yet.
func (m *Message) Expired(now time.Time) bool {
	switch {
	case !m.EndedAt.IsZero() || m.Abandoned:
		return true
	case !m.PastExpiry(now):
		return false
	case m.Type == TypeRequest:
		return m.Open
	}
	return m.ReadAt.IsZero()
}

// PastExpiry reports whether the message's expires_at has passed, whether or not it was read or answered before.
func (m *Message) PastExpiry(now time.Time) bool {
	return !m.ExpiresAt.IsZero() && !now.Before(m.ExpiresAt)
}

// Answerable reports whether a reply to the message may still be stored. After expires_at it may not, even if the request was
// answered before.
func (m *Message) Answerable(now time.Time) bool {
	return !m.Expired(now) && !m.PastExpiry(now)
}

// AbandonedBy reports whether an open request is addressed to an agent that has departed since the request was sent: then
// nobody can answer it (RFC-0021 section 7.2). This is where the rule is decided, so readers see it immediately. It is
// written by the departure's work (messaging/departure.go).
func (m *Message) AbandonedBy(addressee agents.Presence) bool {
	return m.Open && IsAgent(m.Target) && !m.CreatedAt.After(addressee.DepartedAt)
}
