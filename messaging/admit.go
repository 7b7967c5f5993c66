package messaging

import (
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/fault"
	"openintent/intents"
)

// situation is what a draft is judged by: the state under the intent's lock.
type situation struct {
	head    *intents.Head
	access  *intents.Rules
	channel *channels.Rules
	count   channels.Count
	// presences hold the sender's and the addressee's agent records, where they have one.
	presences map[string]agents.Presence
	// request is what a response's correlation id names, as its sender sees it; nil when there is no such message.
	request *Message
	now     time.Time
}

// admit decides whether a draft may be stored, in this order: may the sender take part at all, is the channel open, is
// the message itself in order. It changes nothing but the draft's target, which a response takes from its request.
func admit(d *draft, s situation) error {
	viewer := s.viewer(d)
	if err := viewer.mayParticipate(d.by, s.access); err != nil {
		return err
	}
	if _, closed := s.channel.ClosedBy(s.count, s.head, s.now); closed {
		return errChannelClosed
	}
	if err := admitExpiry(d, s.now); err != nil {
		return err
	}
	if d.messageType == TypeResponse {
		return admitResponse(d, s, viewer)
	}
	if s.channel.Policy == channels.PolicyExplicit && isAgent(d.target) &&
		!s.channel.Lists(d.target, s.presences[d.target].DepartedAt) {
		return errTargetNotMember
	}
	return s.targetHasAccess(d)
}

// targetHasAccess refuses to address an agent that could not see the message, because it has no access to the intent. A
// role and everyone are addressed whoever they turn out to be.
func (s situation) targetHasAccess(d *draft) error {
	if isAgent(d.target) && s.access.Level(d.target, false, s.now) < intents.PermissionRead {
		return errTargetWithoutAccess
	}
	return nil
}

func (s situation) viewer(d *draft) Viewer {
	presence := s.presences[d.sender]
	presence.AgentID = d.sender
	return viewerIn(s.channel, presence, d.privileged, s.access, s.now)
}

func admitExpiry(d *draft, now time.Time) error {
	if !d.expiresAt.IsZero() && !d.expiresAt.After(now) {
		return fault.BadField("expires_at", "it must lie in the future; leave it out for a message that does not expire")
	}
	return nil
}

// admitResponse applies the rules of an answer: to a request of this channel that the sender received and that can still
// be answered.
func admitResponse(d *draft, s situation, viewer Viewer) error {
	request := s.request
	if request == nil || request.ChannelNo != s.channel.ChannelNo || request.IntentNo != s.channel.IntentNo ||
		!visible(request, viewer) {
		return d.unknownRequest()
	}
	switch {
	case request.Type != TypeRequest:
		return errNotARequest
	case !viewer.Operator && request.Sender == d.sender:
		return errOwnRequest
	case !request.answerable(s.now):
		return errMessageExpired.With("message_id", request.ID)
	case d.target != "" && d.target != request.Sender:
		return fault.BadField("to", "a response goes to the sender of its request; leave it out")
	}
	d.target = request.Sender
	return nil
}

func (d *draft) unknownRequest() error {
	if d.replying {
		return errMessageNotFound
	}
	return errCorrelationUnknown
}
