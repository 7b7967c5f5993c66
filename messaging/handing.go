package messaging

import (
	"slices"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
)

// wakeReaders wakes whom the batch concerns, once its commit is certain.
func (b *batch) wakeReaders() { b.hub.wakeWith(b.handovers, b.topics()...) }

// handovers gives what the batch stored, by those of its topics that are listened for here.
func (b *batch) handovers(heard []any) map[any]*handover {
	listened := make(map[any]struct{}, len(heard))
	for _, topic := range heard {
		listened[topic] = struct{}{}
	}
	given := make(map[any]*handover, len(heard))
	byChannel := make(map[channels.Key]*handover)
	b.eachStored(func(m *Message) {
		_, followed := listened[m.channel()]
		_, awaited := listened[requestTopic(m.CorrelationID)]
		if (followed || awaited) && byChannel[m.channel()] == nil {
			byChannel[m.channel()] = b.handover(m.channel())
		}
	})
	b.eachStored(func(m *Message) {
		h := byChannel[m.channel()]
		if h == nil {
			return
		}
		b.hand(h, m)
		given[m.channel()] = h
		if m.CorrelationID != "" {
			given[requestTopic(m.CorrelationID)] = h
		}
	})
	return given
}

// eachStored calls fn for each message that this transaction has stored, in order.
func (b *batch) eachStored(fn func(m *Message)) {
	for i, s := range b.submissions {
		out := b.outcomes[i]
		if out.message != nil && !out.replayed && b.found[s.draft.id] == nil {
			fn(out.message)
		}
	}
}

// handover begins what is handed over of a channel.
func (b *batch) handover(key channels.Key) *handover {
	return &handover{
		key: key, head: b.heads.Get(key.IntentNo).Copy(), count: *b.counts[key], at: b.db.Now(),
		presences: make(map[string]agents.Presence), answered: make(map[string]struct{}),
	}
}

// hand adds a message, with the records of its sender and its addressee.
func (b *batch) hand(h *handover, m *Message) {
	h.add(m)
	for _, agent := range []string{m.Sender, m.Target} {
		if presence, known := b.presence(agent); known {
			h.presences[agent] = presence
		}
	}
	if request := b.requests[m.CorrelationID]; request != nil && request.Open {
		h.answered[m.CorrelationID] = struct{}{}
	}
}

// presence gives an agent's record, if the batch has decided by it. The operator has none.
func (b *batch) presence(agent string) (presence agents.Presence, known bool) {
	if presence, known = b.presences[agent]; known {
		return presence, true
	}
	return agents.Presence{AgentID: agent}, slices.Contains(b.decidedBy, agent) || agent == caller.Operator
}
