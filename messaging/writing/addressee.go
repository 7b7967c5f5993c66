package writing

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/messaging/message"
)

// This file holds the rules of a message's `to` (RFC-0021 section 2.3): checkTarget and checkTargetOfType decide what the draft
// alone decides, admitTarget and answerTo what takes the state under the lock.

// checkTarget refuses an address that nobody can have.
func (d *Draft) checkTarget() error {
	switch {
	case message.ToEveryone(d.Target):
		return nil
	case d.MessageType == message.TypeResponse:
		return nil // answerTo compares it with the request's sender, which need not be a plain agent's name
	case d.Target == d.Sender:
		return fault.BadField("to", "a sender is never a recipient of its own message; name another agent")
	case d.Target == caller.RolePrefix:
		return fault.BadField("to", "a role address is role:<role_id>, with the role's id after the colon")
	case message.IsAgent(d.Target):
		return caller.CheckName("to", d.Target)
	}
	return agents.CheckRole("to", message.RoleOf(d.Target))
}

// checkTargetOfType refuses an address that does not suit the message's type. A broadcast goes to everyone, also when it says
// nothing.
func (d *Draft) checkTargetOfType() error {
	everyone := message.ToEveryone(d.Target)
	switch {
	case d.MessageType == message.TypeRequest && everyone:
		return fault.BadField("to", "a request must name an agent or role:<role_id>")
	case d.MessageType == message.TypeBroadcast && !everyone:
		return fault.BadField("to", "a broadcast goes to everyone; leave it out, give *, or send a notify")
	case d.MessageType == message.TypeBroadcast:
		d.Target = caller.Broadcast
	}
	return nil
}

// admitTarget refuses to address an agent that could not see the message: one that is not a member of an explicit channel,
// or has no access to the intent. A role and everyone may be addressed, whoever they turn out to be.
func (s situation) admitTarget(d *Draft) error {
	if message.IsAgent(d.Target) && s.channel.Policy == channels.PolicyExplicit &&
		!s.channel.Lists(d.Target, s.presences[d.Target].DepartedAt) {
		return message.ErrTargetNotMember
	}
	return s.targetTakes(d)
}

// targetTakes refuses to address an agent that cannot get the message, or does not want it.
func (s situation) targetTakes(d *Draft) error {
	if err := s.targetHasAccess(d); err != nil {
		return err
	}
	if s.refused {
		return message.ErrRefused
	}
	if d.Pile != nil {
		return d.Pile
	}
	return nil
}

// targetHasAccess refuses to address an agent that has no access to the intent, or a guest that is no member of the channel.
func (s situation) targetHasAccess(d *Draft) error {
	if caller.IsGuest(d.Target) {
		if s.channel == nil || !s.channel.Lists(d.Target, s.presences[d.Target].DepartedAt) {
			return message.ErrTargetNotMember
		}
		return nil
	}
	if message.IsAgent(d.Target) && s.access.Level(d.Target, false, s.now) < intents.PermissionRead {
		return message.ErrTargetWithoutAccess
	}
	return nil
}

// answerTo addresses a response: it goes to the sender of its request.
func (d *Draft) answerTo(request *message.Message) error {
	if d.Target != "" && d.Target != request.Sender {
		return fault.BadField("to", "a response goes to the sender of its request; leave it out")
	}
	d.Target = request.Sender
	return nil
}
