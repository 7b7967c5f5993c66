package writing

import (
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/internal/caller"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// handovers returns what the batch stored, by those of its topics that somebody here listens under.
func (b *batch) handovers(heard []any) map[any]*wake.Handover {
	listened := make(map[any]struct{}, len(heard))
	for _, topic := range heard {
		listened[topic] = struct{}{}
	}
	given := make(map[any]*wake.Handover, len(heard))
	byChannel := make(map[channels.Key]*wake.Handover)
	b.eachStored(func(m *message.Message) {
		_, followed := listened[m.Key()]
		_, awaited := listened[wake.RequestTopic(m.CorrelationID)]
		if _, annotated := b.annotated[m.Key()]; annotated {
			return
		}
		if (followed || awaited) && byChannel[m.Key()] == nil {
			byChannel[m.Key()] = b.handover(m.Key())
		}
	})
	b.eachStored(func(m *message.Message) {
		h := byChannel[m.Key()]
		if h == nil {
			return
		}
		b.addTo(h, m)
		given[m.Key()] = h
		if m.CorrelationID != "" {
			given[wake.RequestTopic(m.CorrelationID)] = h
		}
	})
	for _, topic := range heard {
		if intentNo, feed := topic.(wake.FeedTopic); feed {
			if h := b.logHandover(int64(intentNo)); h != nil {
				given[topic] = h
			}
		}
	}
	return given
}

// logHandover returns what the batch stored in an intent's log. It returns nil if the log got anything else than
// messages, because a handover holds only those.
func (b *batch) logHandover(intentNo int64) *wake.Handover {
	h := b.handover(channels.Key{IntentNo: intentNo})
	h.Before, h.Counts = b.began[intentNo], make(map[int64]channels.Count)
	through := h.Before.LastPosition
	b.eachStored(func(m *message.Message) {
		if m.IntentNo == intentNo && m.Position == through+1 {
			b.addTo(h, m)
			h.Contents = append(h.Contents, new(message.SharedContent))
			h.Counts[m.ChannelNo] = *b.counts[m.Key()]
			through++
		}
	})
	if through != h.Head.LastPosition {
		return nil
	}
	return h
}

// eachStored calls fn for each message that this transaction has stored, in order.
func (b *batch) eachStored(fn func(m *message.Message)) {
	for i, s := range b.submissions {
		out := b.outcomes[i]
		if out.Message != nil && !out.replayed && b.found[s.draft.ID] == nil {
			fn(out.Message)
		}
	}
}

// handover begins the handover of a channel, or of an intent's log.
func (b *batch) handover(key channels.Key) *wake.Handover {
	h := &wake.Handover{
		Key: key, Head: b.heads.Get(key.IntentNo).Copy(), At: b.db.Now(),
		Presences: make(map[string]agents.Presence), Answered: make(map[string]struct{}),
	}
	if count := b.counts[key]; count != nil {
		h.Count = *count
	}
	return h
}

// addTo adds a message, with the records of its sender and its addressee.
func (b *batch) addTo(h *wake.Handover, m *message.Message) {
	h.Add(m)
	for _, agent := range []string{m.Sender, m.Target} {
		if presence, known := b.presence(agent); known {
			h.Presences[agent] = presence
		}
	}
	if request := b.requests[m.CorrelationID]; request != nil && request.Open {
		h.Answered[m.CorrelationID] = struct{}{}
	}
}

// presence returns an agent's record, if the batch was decided by it. The operator has none.
func (b *batch) presence(agent string) (presence agents.Presence, known bool) {
	if presence, known = b.presences[agent]; known {
		return presence, true
	}
	return agents.Presence{AgentID: agent}, slices.Contains(b.decidedBy, agent) || agent == caller.Operator
}
