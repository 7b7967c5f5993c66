package message

import "time"

// Receives tells whether the viewer is a recipient of the message: its addressee, a holder of the addressed role, or any
// participant when it goes to everyone. No agent is a recipient of its own message, or of one that was sent before it was
// let in.
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

// Visible is the one rule of who may see a message (RFC-0021 sections 4 and 5): its sender, its recipients and the
// operator. Every path that hands out a message asks it; queries only narrow down beforehand.
func Visible(m *Message, v Viewer) bool {
	return v.Operator || v.Participates && m.Sender == v.Agent || v.Receives(m)
}

// Listed tells whether the viewer may see a message and lists and streams still show it at a time. The sender and the
// operator always see it. Recipients no longer see a request that expired without an answer, nor any other message whose
// time ran out before they read it.
func Listed(m *Message, v Viewer, now time.Time) bool {
	return Visible(m, v) && Timely(m, v, now)
}

// MayBeListed tells whether Listed may hold once it is known what the viewer has read and answered itself. It is for messages
// that were read for nobody in particular.
func MayBeListed(m *Message, v Viewer, now time.Time) bool {
	known := *m
	known.ReadByViewer, known.AnsweredByViewer = true, true
	return Listed(&known, v, now)
}
