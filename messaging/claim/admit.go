package claim

import (
	"openintent/agents"
	"openintent/messaging/message"
)

// Admit refuses a viewer that sees the message and may not claim it, or that takes on nothing more at present. A request is for those
// who may answer it, and a thread is claimed by its first message, by whoever takes part in the channel.
func Admit(s Situation, viewer message.Viewer) error {
	switch viewer.Presence.Status {
	case agents.StatusDraining, agents.StatusDead, agents.StatusDeregistered:
		return ErrLeaving
	}
	switch m := s.Message; {
	case m.Type != message.TypeRequest && m.ThreadRoot() != m.Position:
		return ErrNotTheRoot
	case m.Type == message.TypeRequest && !viewer.Operator && m.Sender == viewer.Agent:
		return message.ErrOwnRequest
	case m.Deleted():
		return message.ErrMessageDeleted.With("message_id", m.ID)
	case !m.Answerable(s.Now): // no claim outlives its message
		return message.ErrMessageExpired.With("message_id", m.ID)
	}
	return nil
}
