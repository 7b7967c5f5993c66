package writing

import (
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/fault"
	"openintent/messaging/message"
)

// situation is the state by which a draft is judged, as it stands under the intent's lock.
type situation struct {
	head    *intents.Head
	access  *intents.Rules
	channel *channels.Rules
	count   channels.Count
	// presences hold the agent records of the sender and the addressee, where they have one.
	presences map[string]agents.Presence
	// refused is true when the addressee refuses the sender.
	refused bool
	// request is the message that a response's correlation id names, as the response's sender sees it. It is nil when there
	// is no such message.
	request *message.Message
	// parent is the message that the draft names as its parent, as the draft's sender sees it; nil when there is no such message.
	// taskFound is true when the draft's task is one of the intent. book says whom the draft's words may name; nil if it has none.
	parent    *message.Message
	taskFound bool
	book      *addressBook
	// owed counts the open obligations of the draft's sender, if the draft has one.
	owed int
	// documents are those of the draft's channel, if the draft is one.
	documents documents
	now       time.Time
}

// admit decides whether a draft may be stored. It asks in this order: may the sender take part at all, is the channel open,
// is the message itself in order. It changes nothing but the draft's target, which a response takes from its request, and what the
// draft's message carries beyond RFC-0021.
func admit(d *Draft, s situation) error {
	viewer := s.viewer(d)
	if err := viewer.RequireParticipation(d.By, s.access); err != nil {
		return err
	}
	if s.channel.Reserved() {
		return channels.ErrReserved
	}
	if _, closed := s.channel.ClosedBy(s.count, s.head, s.now); closed {
		return message.ErrChannelClosed
	}
	if err := admitExpiry(d, s.now); err != nil {
		return err
	}
	if err := admitAddress(d, s, viewer); err != nil {
		return err
	}
	if err := s.converse(d, viewer); err != nil {
		return err
	}
	if d.Human {
		d.conversation = d.conversation.FromHuman()
	}
	return nil
}

func admitAddress(d *Draft, s situation, viewer message.Viewer) error {
	if d.MessageType == message.TypeResponse {
		return admitResponse(d, s, viewer)
	}
	return s.admitTarget(d)
}

func (s situation) viewer(d *Draft) message.Viewer {
	presence := s.presences[d.Sender]
	presence.AgentID = d.Sender
	return message.NewViewer(s.channel, presence, d.Privileged, s.access, s.now)
}

func admitExpiry(d *Draft, now time.Time) error {
	if !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(now) {
		return fault.BadField("expires_at", "it must lie in the future; leave it out for a message that does not expire")
	}
	return nil
}

// admitResponse applies the rules of an answer: it answers a request of this channel that the sender received and that can
// still be answered.
func admitResponse(d *Draft, s situation, viewer message.Viewer) error {
	request := s.request
	if !viewer.Sees(request, message.Answerable, s.count.Floor, s.now) || request.Key() != s.channel.Key {
		return d.unknownRequest()
	}
	switch {
	case request.Type != message.TypeRequest:
		return message.ErrNotARequest
	case !viewer.Operator && request.Sender == d.Sender:
		return message.ErrOwnRequest
	case request.Deleted():
		return message.ErrMessageDeleted.With("message_id", request.ID)
	case !request.Answerable(s.now):
		return message.ErrMessageExpired.With("message_id", request.ID)
	}
	return d.answerTo(request)
}

func (d *Draft) unknownRequest() error {
	if d.Replying {
		return message.ErrMessageNotFound
	}
	return message.ErrCorrelationUnknown
}
