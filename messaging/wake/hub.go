package wake

import (
	"slices"
	"sync"

	"openintent/channels"
)

// Hub wakes whoever waits for something to happen. A wake-up carries no truth: it says "look again", and looking reads
// the store, unless what was stored was handed over with it (handover.go). A lost wake-up therefore delays and never loses;
// whoever waits also looks again after a while without one.
//
// Waiting parties listen under topics: followers of a channel under its key, askers under their request's id. An asker
// is woken by answers to its own request only, so that a busy channel does not wake all its askers.
type Hub struct {
	// tell tells the other replicas of topics; nil when there are none, or they are not told. It is set before the first
	// wake-up and does not block.
	tell func(topics []any)

	mutex     sync.Mutex
	listeners map[any]map[*Listener]struct{}
}

// Listener is one waiting party. Wakes that come while it is not waiting merge into one.
type Listener struct {
	hub    *Hub
	topics []any
	wake   chan struct{}
	// calls, when set, is called instead. It holds up all wake-ups, so it does not block, and it calls nothing of the hub.
	calls func()

	// agent is for whom an answer is awaited; empty for other parties.
	agent string
	hands hands
}

// The topics, beside a channel's key (channels.Key), under which its followers listen.
type (
	// RequestTopic is a request's id: an answer was stored.
	RequestTopic string
	// ClosingTopic is a channel's key: the channel was changed or closed.
	ClosingTopic channels.Key
	// IntentTopic is an intent's number: access, or another rule of the intent, changed.
	IntentTopic int64
	// FeedTopic is an intent's number: something was stored in its log.
	FeedTopic int64
	// AgentTopic is an agent's id: its role or status changed.
	AgentTopic string
	// AudienceTopic is an agent or role:<role_id>: an intent began to reach it.
	AudienceTopic string
	// SubscriptionTopic is the number of a subscription of the room above: what waits in it, or who receives it, changed.
	SubscriptionTopic int64
)

// NewHub makes a hub that nobody listens to yet.
func NewHub() *Hub { return &Hub{listeners: make(map[any]map[*Listener]struct{})} }

// Listen begins listening under the topics; a topic may be listened for before the thing it names exists. Call close
// when done.
func (h *Hub) Listen(topics ...any) *Listener { return h.ListenFor("", topics...) }

// ListenCalling is listen for who has very many listeners: instead of filling a channel, for which somebody would have to
// wait, each wake-up calls a function. It holds up other wake-ups, so it must not block, and it must not use the hub.
func (h *Hub) ListenCalling(woken func(), topics ...any) *Listener {
	l := &Listener{hub: h, calls: woken}
	l.Also(topics...)
	return l
}

// ListenFor is listen for an agent's sake, whose record may be needed to hand it what comes.
func (h *Hub) ListenFor(agent string, topics ...any) *Listener {
	l := &Listener{hub: h, agent: agent, wake: make(chan struct{}, 1)}
	l.Also(topics...)
	return l
}

// Also listens under further topics.
func (l *Listener) Also(topics ...any) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	for _, topic := range topics {
		if l.hub.listeners[topic] == nil {
			l.hub.listeners[topic] = make(map[*Listener]struct{})
		}
		l.hub.listeners[topic][l] = struct{}{}
	}
	l.topics = append(l.topics, topics...)
}

// Forget ends listening under some of the topics.
func (l *Listener) Forget(topics ...any) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	l.leave(topics)
	dropped := make(map[any]struct{}, len(topics)) // there may be very many
	for _, topic := range topics {
		dropped[topic] = struct{}{}
	}
	l.topics = slices.DeleteFunc(l.topics, func(topic any) bool {
		_, gone := dropped[topic]
		return gone
	})
}

// Close ends listening.
func (l *Listener) Close() {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	l.leave(l.topics)
	l.topics = nil
}

func (l *Listener) leave(topics []any) {
	for _, topic := range topics {
		delete(l.hub.listeners[topic], l)
		if len(l.hub.listeners[topic]) == 0 {
			delete(l.hub.listeners, topic)
		}
	}
}

// WakeUp asks everyone who listens under the topics, here and on other replicas, to look again. Call it after the commit
// of what there is to see.
func (h *Hub) WakeUp(topics ...any) {
	h.wakeHere(topics...)
	if h.tell != nil {
		h.tell(topics)
	}
}

// WakeWith is WakeUp for what a transaction of this replica has certainly committed. Those who listen here are handed over
// what it stored: stored gives that for those of the topics that somebody listens under. A topic without any is woken all
// the same.
func (h *Hub) WakeWith(stored func(heard []any) map[any]*Handover, topics ...any) {
	if heard := h.Heard(topics); len(heard) > 0 { // who begins to listen from here on has yet to look
		given := stored(heard)
		h.mutex.Lock()
		for _, topic := range heard {
			for l := range h.listeners[topic] {
				l.give(given[topic])
			}
		}
		h.mutex.Unlock()
	}
	if h.tell != nil {
		h.tell(topics)
	}
}

// WaitingFor gives the agents for whom what the topic names is awaited here.
func (h *Hub) WaitingFor(topic any) (agentIDs []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for l := range h.listeners[topic] {
		if l.agent != "" {
			agentIDs = append(agentIDs, l.agent)
		}
	}
	return agentIDs
}

// Heard gives those of the topics that somebody here listens under.
func (h *Hub) Heard(topics []any) (heard []any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		if len(h.listeners[topic]) > 0 {
			heard = append(heard, topic)
		}
	}
	return heard
}

// WakeNamed asks those to look again who wait for what reaches the agents.
func (h *Hub) WakeNamed(agentIDs []string) {
	topics := make([]any, len(agentIDs))
	for i, agentID := range agentIDs {
		topics[i] = AudienceTopic(agentID)
	}
	h.WakeUp(topics...)
}

// wakeAll asks everyone here to look again.
func (h *Hub) wakeAll() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, listeners := range h.listeners {
		for l := range listeners {
			l.Signal()
		}
	}
}

// wakeHere asks everyone here who listens under the topics to look again.
func (h *Hub) wakeHere(topics ...any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		for l := range h.listeners[topic] {
			l.Signal()
		}
	}
}

// Woken gives the channel on which wake-ups arrive.
func (l *Listener) Woken() <-chan struct{} { return l.wake }

// Take gives what was handed to the listener since the last time, and tells whether it is to look, which sees that too.
func (l *Listener) Take() (given []*Handover, look bool) { return l.hands.take() }

// Signal asks the listener to look again.
func (l *Listener) Signal() { l.give(nil) }

// give wakes the listener with what was stored; nil: it is to look for itself.
func (l *Listener) give(stored *Handover) {
	if l.calls != nil {
		l.calls()
		return
	}
	l.hands.put(stored)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
