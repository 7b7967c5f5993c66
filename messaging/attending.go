package messaging

import (
	"openintent/agents"
	"openintent/internal/caller"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// Attention judges what the message asks of an agent, as far as the viewer may know: the viewer asks about itself, or it is the
// message's sender or the operator and asks about somebody else. The judgement is nil if the message asks nothing. The rules say why.
func (s *Sighting) Attention(recipient string) (judged *attention.Judgement, rules []attention.Rule, err error) {
	d := attention.Delivery{
		Situation: s.Snapshot.SituationOf(s.Message), Viewer: s.Viewer, Floor: s.Snapshot.Count.Floor,
	}
	if recipient != s.Viewer.Agent {
		if err := s.deliverTo(&d, recipient); err != nil {
			return nil, nil, err
		}
	}
	judgements, err := attention.For(s.Tx, []attention.Delivery{d})
	if err != nil {
		return nil, nil, err
	}
	return judgements[0], attention.Explain(d, judgements[0]), nil
}

// deliverTo makes the delivery one to an agent other than the viewer. A sender may know whether the agent is a recipient only if it
// can also read so in the list of deliveries.
func (s *Sighting) deliverTo(d *attention.Delivery, recipient string) error {
	presence, err := presenceOf(s.Tx, recipient)
	if err != nil {
		return err
	}
	of := s.Snapshot
	of.Presences = map[string]agents.Presence{recipient: presence}
	found, err := of.Find(s.Tx, recipient, s.Message.ID)
	if err != nil {
		return err
	}
	if found == nil {
		return message.ErrMessageNotFound
	}
	d.Message, d.Viewer, d.Shown = found, of.Viewer(recipient, recipient == caller.Operator), &s.Viewer
	if !s.Viewer.Operator && recipient != s.Message.Sender {
		known, err := recipients{s.Snapshot}.hasRecord(s.Tx, s.Message, presence)
		d.Unknown = !known
		return err
	}
	return nil
}
