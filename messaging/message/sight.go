package message

import "time"

// This file is the one place where it is decided who sees a message (RFC-0021 sections 4 and 5). Every path that hands out a message, or
// that does something with one, asks Sees. Queries only narrow the rows down beforehand.

// Purpose says for what a viewer looks at a message.
type Purpose int

// The purposes. They differ in what they make of messages that were evicted, because newer ones pushed them below the channel's floor, and
// of those whose time is over for the viewer.
const (
	// Listed is for lists, streams, feeds, threads and searches.
	Listed Purpose = iota
	// EvenEvicted is for what is kept beside the lists: the responses to a request, for its asker, and the documents of a channel.
	EvenEvicted
	// Current is for reacting to a message, editing it, reading its revisions and writing below it.
	Current
	// ByID is for whoever names the message: to get it, mark it, say what became of it, or ask what it asks.
	ByID
	// Answerable is for answering a request, awaiting its responses, and claiming it. An inbox shows what its owner may answer.
	Answerable
	// Deletable is for deleting a message's content.
	Deletable
	// Dischargeable is for discharging an obligation.
	Dischargeable
)

// Sees reports whether the viewer sees a message for a purpose, at a time. floor is the ordinal up to which the messages of the channel are
// evicted. Nobody sees a message that is nil, because it is not there.
//
// Only its sender, its recipients and the operator see a message. The delegate of an obligation may discharge it unseen. A request with an
// obligation stays, whatever evicts it or ends its time, until its content is deleted.
func (v Viewer) Sees(m *Message, as Purpose, floor int64, now time.Time) bool {
	if m == nil {
		return false
	}
	if !v.Operator && !v.sent(m) && !v.Receives(m) {
		return as == Dischargeable && m.Obliges() && m.Conversation.Obligation.Delegate == v.Agent
	}
	kept := m.Ordinal > floor
	switch as {
	case Listed:
		return kept && Timely(m, v, now)
	case EvenEvicted:
		return Timely(m, v, now)
	case Current:
		return kept && Timely(m, v, now) || m.owes()
	case ByID:
		return kept || m.owes()
	case Answerable: // the sweep keeps a request that was evicted as long as it can be answered
		return kept || m.Type == TypeRequest
	case Deletable: // deleted or not, so that repeats are harmless
		return kept || m.Obliges() || m.isDocument()
	case Dischargeable: // deleted or not, too
		return kept || m.Obliges()
	}
	return false
}

// MaySee reports whether the viewer may see a message as listed once it is known what the viewer has read and answered itself. It is for
// messages that were read for nobody in particular.
func (v Viewer) MaySee(m *Message, floor int64, now time.Time) bool {
	known := *m
	known.ReadByViewer, known.AnsweredByViewer = true, true
	return v.Sees(&known, Listed, floor, now)
}

func (v Viewer) sent(m *Message) bool { return v.Participates && m.Sender == v.Agent }

// owes reports whether the message is a request with an obligation, open or not, and its content is there. The sweep removes what is
// evicted and owed no more.
func (m *Message) owes() bool { return m.Obliges() && !m.Deleted() }

func (m *Message) isDocument() bool { return m.Conversation != nil && m.Conversation.Document }

// Receives reports whether the viewer is a recipient of the message: its addressee, a holder of the addressed role, or any
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

// receivesByRole reports whether a message to the viewer's role reaches this viewer. A message that was sent after the viewer
// took the role does. An earlier one, or one of the same moment, does in two cases: it is a request that was still open
// when the viewer took the role and has not expired since, or the viewer has read or answered it itself. What earlier
// holders of the role said among themselves stays with them.
func (v Viewer) receivesByRole(m *Message) bool {
	since := v.Presence.RoleSinceIn(m.IntentNo)
	open := m.Type == TypeRequest && (m.Open || m.AnsweredAt.After(since)) && !m.Expired(v.Now)
	return m.CreatedAt.After(since) || open || m.ReadByViewer || m.AnsweredByViewer
}

// Timely reports whether a message that the viewer may see still has its time. For its sender and the operator it always has. Recipients no
// longer see a request that expired without an answer, nor any other message whose time ran out before they read it.
func Timely(m *Message, v Viewer, now time.Time) bool {
	switch {
	case v.Operator || m.Sender == v.Agent:
		return true
	case m.Type == TypeRequest:
		return !m.Expired(now)
	}
	return m.EndedAt.IsZero() && (!m.PastExpiry(now) || m.ReadByViewer)
}
