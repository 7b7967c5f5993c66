package writing

import (
	"openintent/agents"
	"openintent/messaging/message"
)

// This file refuses messages to an agent that refuses their sender (agents.RefuseSender). An agent's presence says whether it refuses
// anybody. Only then is it asked about the sender, and what it says is cached for as long as the presence stays the same. A commit in one
// round trip compares the presence, so a refusal holds on every server from the moment when it is stored.

// refusable reports whether the draft's addressee may refuse it. An agent cannot refuse an answer to its own request, the operator, or what is
// sent to a role or to everyone.
func (d *Draft) refusable() bool {
	return d.MessageType != message.TypeResponse && !d.Privileged && message.IsAgent(d.Target)
}

// refusal reports whether an agent refuses a sender, as of the number that the agent's presence had (agents.Presence.Refusals).
type refusal struct {
	asOf    int64
	refused bool
}

// refusable returns the senders of drafts and their addressees that refuse somebody.
func (s *state) refusable(submissions []*submission) (pairs []agents.RefusedPair) {
	for _, one := range submissions {
		if d := one.draft; d.refusable() && s.presences[d.Target].Refusals != 0 {
			pairs = append(pairs, agents.RefusedPair{AgentID: d.Target, Sender: d.Sender})
		}
	}
	return pairs
}

// readRefused reads which of the drafts' senders are refused. It reads nothing unless an addressee refuses somebody.
func (b *batch) readRefused() error {
	pairs := b.refusable(b.submissions)
	if len(pairs) == 0 {
		return nil
	}
	statement, refused := agents.PrepareRefused(b.tx, pairs)
	if err := b.tx.Pipeline(statement); err != nil {
		return err
	}
	b.refusals = make(map[agents.RefusedPair]refusal, len(pairs))
	for _, pair := range pairs {
		_, is := refused[pair]
		b.refusals[pair] = refusal{b.presences[pair.AgentID].Refusals, is}
	}
	return nil
}

// refuses reports whether the draft's addressee refuses its sender.
func (s *state) refuses(d *Draft) bool {
	return d.refusable() && s.refusals[agents.RefusedPair{AgentID: d.Target, Sender: d.Sender}].refused
}
