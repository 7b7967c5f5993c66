package messaging

import (
	"slices"
	"sync"
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/intents"
)

const (
	// maxHandovers and maxHandedBytes bound what waits for one listener. Who is given more looks for itself.
	maxHandovers   = 16
	maxHandedBytes = maxPageBytes
)

// handover is what one commit of this replica stored in one channel: given to those here who wait for it, so that they need
// not read what was in the writer's hands a moment ago. It is what a look would have seen at the commit, as far as it goes,
// and never more than that: whoever cannot tell from it alone what to do looks. It is never changed.
type handover struct {
	key channels.Key
	// head and count are as the commit left them.
	head  intents.Head
	count channels.Count
	// messages are all that the commit stored in the channel, in order: the last one is the channel's newest.
	messages []*Message
	bytes    int
	// presences are the records of agents as they were read under the head's lock; an unregistered one's is empty but for
	// its id. Whoever is missing was not asked for.
	presences map[string]agents.Presence
	// answered are the requests to which the messages hold the first responses.
	answered map[string]struct{}
	// at is when the commit was known.
	at time.Time
}

// fresh tells whether the handover may still stand for a look.
func (h *handover) fresh(now time.Time) bool { return now.Sub(h.at) <= sharedFor }

// look gives what a look for some agents would have at a time, as far as it is at hand: it is not when rules have changed
// and nobody has read them since, or when the agents' records decide and were not read.
func (h *handover) look(s *Service, now time.Time, agentIDs ...string) (l look, known bool) {
	access, known := s.intents.KeptRules(h.key.IntentNo, h.head.Epoch)
	if !known {
		return look{}, false
	}
	channel, known := s.channels.KeptRules(h.key, h.head.Epoch)
	if !known {
		return look{}, false
	}
	for _, agent := range agentIDs {
		if _, read := h.presences[agent]; !read && channel.Policy != channels.PolicyIntent {
			return look{}, false
		}
	}
	return look{
		head: h.head, access: access, channel: channel, count: h.count, presences: h.presences, now: h.head.At(now),
	}, true
}

// tells tells whether who may see the messages does not depend on records of agents that may have changed since a look. Of
// messages to one agent it is known who sees them, besides the operator: sender and addressee, whose records were read
// under the lock. Membership of an explicit channel hangs on departures, and a role on who holds it: that takes a look.
func (h *handover) tells(before look) bool {
	for _, m := range h.messages {
		switch {
		case roleOf(m.Target) != "":
			return false
		case before.channel.Policy == channels.PolicyIntent:
		case toEveryone(m.Target), !h.agrees(before, m.Sender), !h.agrees(before, m.Target):
			return false
		}
		if m.Open && !m.CreatedAt.After(h.presences[m.Target].DepartedAt) {
			return false // abandoned
		}
	}
	return true
}

// agrees tells whether a look knows an agent's record as it was under the lock, or does not need it.
func (h *handover) agrees(before look, agent string) bool {
	seen, needed := before.presences[agent]
	if !needed {
		return true
	}
	read, known := h.presences[agent]
	return known && read == seen
}

// after gives those of the messages whose ordinals lie above one.
func (h *handover) after(ordinal int64) []*Message {
	at := slices.IndexFunc(h.messages, func(m *Message) bool { return m.Ordinal > ordinal })
	if at < 0 {
		return nil
	}
	return h.messages[at:]
}

// answering gives a request as it became, and the messages that answer it, as a selection of the caller's own.
func (h *handover) answering(request *Message) *selection {
	answered := *request
	answered.Open = false
	found := &selection{messages: []*Message{&answered}}
	for _, m := range h.messages {
		if m.CorrelationID == request.ID {
			answer := *m
			found.messages = append(found.messages, &answer)
		}
	}
	return found
}

// hands are a listener's: what it was given and has not taken.
type hands struct {
	mutex sync.Mutex
	given []*handover
	bytes int
	// look is true when it was woken without being given anything, or cannot hold it.
	look bool
}

// put adds a handover; nil, or one too many: whose hands these are is to look.
func (h *hands) put(stored *handover) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if stored == nil || len(h.given) == maxHandovers || h.bytes+stored.bytes > maxHandedBytes {
		h.given, h.bytes, h.look = nil, 0, true
	}
	if !h.look {
		h.given, h.bytes = append(h.given, stored), h.bytes+stored.bytes
	}
}

// take empties the hands, and tells whether a look is due, which sees what was given too.
func (h *hands) take() (given []*handover, look bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	given, look = h.given, h.look
	h.given, h.bytes, h.look = nil, 0, false
	return given, look
}

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
	h.messages = append(h.messages, m)
	h.bytes += m.size()
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
