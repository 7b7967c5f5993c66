package message

import "time"

// Receives tells whether the viewer is a recipient of the message: its addressee, a holder of the addressed role, or a
// participant when it goes to everyone. Nobody is a recipient of their own message, or of one from before they were let in.
func (v Viewer) Receives(m *Message) bool {
	if !v.Participates || m.Sender == v.Agent || m.Ordinal <= v.HistoryFloor {
		return false
	}
	switch {
	case ToEveryone(m.Target):
		return true
	case IsAgent(m.Target):
		return m.Target == v.Agent
	}
	return v.Presence.HoldsRole(RoleOf(m.Target)) && v.receivesByRole(m)
}

// receivesByRole tells whether a message to the viewer's role is for the viewer: when it was sent after the viewer took the
// role, and of what was sent before (or at the same moment) when it is a request that was still open then and has not expired
// since, or when the viewer has read or answered it itself. What was said among those who held the role before stays with them.
func (v Viewer) receivesByRole(m *Message) bool {
	since := v.Presence.RoleSinceIn(m.IntentNo)
	open := m.Type == TypeRequest && (m.Open || m.AnsweredAt.After(since)) && !m.Expired(v.Now)
	return m.CreatedAt.After(since) || open || m.ReadByViewer || m.AnsweredByViewer
}

// Visible is the one rule of who may see a message (RFC-0021 sections 4 and 5): its sender, its recipients and the
// operator. Every path that hands out a message asks it; queries only pre-filter.
func Visible(m *Message, v Viewer) bool {
	return v.Operator || v.Participates && m.Sender == v.Agent || v.Receives(m)
}

// Listed tells whether a visible message is shown in lists and streams at a time. Its sender and the operator always
// see it; recipients no longer see a request that expired unanswered, nor anything else whose time ran out before they
// read it.
func Listed(m *Message, v Viewer, now time.Time) bool {
	return Visible(m, v) && Timely(m, v, now)
}

// Timely tells of a visible message whether it is still shown at a time.
func Timely(m *Message, v Viewer, now time.Time) bool {
	switch {
	case v.Operator || m.Sender == v.Agent:
		return true
	case m.Type == TypeRequest:
		return !m.Expired(now)
	}
	return m.EndedAt.IsZero() && (!m.PastExpiry(now) || m.ReadByViewer)
}
