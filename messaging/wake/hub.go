package wake

import (
	"slices"
	"sync"
	"sync/atomic"

	"openintent/channels"
)

// Hub wakes those who wait for something to happen. A wake-up carries no truth: it says "look again", and whoever looks
// reads the store, unless what was stored was handed over with the wake-up (handover.go). So a lost wake-up delays but
// loses nothing, because everyone who waits also looks again after a while without one.
//
// Many parties that wait for the same very many topics listen together (group.go). So each replica has one listener for each agent, and
// an index from intents to these agents, however many calls and streams wait for what reaches an agent.
//
// Those who wait listen under topics: the followers of a channel under its key, an asker under its request's id. Only
// answers to its own request wake an asker, so a busy channel does not wake all its askers.
type Hub struct {
	// tell passes topics to the other replicas. It is nil when there are none, or when they are not told. It is set before
	// the first wake-up, and it does not block.
	tell func(topics []any)
	// news hears what other replicas tell by Tell; nil when nobody does.
	news func(news string)

	mutex     sync.Mutex
	listeners map[any]map[*Listener]struct{}
}

// Listener is one party that waits. Wake-ups that come while it is not waiting merge into one.
type Listener struct {
	hub    *Hub
	topics []any
	wake   chan struct{}
	// calls, when it is set, is called instead of filling the channel. All other wake-ups wait for it, so it does not
	// block, and it calls nothing of the hub.
	calls func()

	// looks is true when the listener takes nothing that is handed over, and always looks.
	looks bool

	// roused is true from RouseAll until the listener waits again, having looked; rousing guards the change.
	roused  atomic.Bool
	rousing sync.Mutex

	// stirred is true when the listener was woken otherwise than by its group.
	stirred atomic.Bool
	// is the group whose topics these are, and of is the group that the listener is a member of; both are nil for other parties. The
	// hub's mutex guards them.
	is, of *Group

	// agent is the agent that awaits an answer; it is empty for other parties.
	agent   string
	mailbox mailbox
}

// These are the topics beside a channel's key (channels.Key), under which the channel's followers listen.
type (
	// RequestTopic is a request's id: an answer to it was stored.
	RequestTopic string
	// ClosingTopic is a channel's key: the channel was changed or closed.
	ClosingTopic channels.Key
	// IntentTopic is an intent's number: access to the intent, or another of its rules, changed.
	IntentTopic int64
	// FeedTopic is an intent's number: something was stored in the intent's log.
	FeedTopic int64
	// AgentTopic is an agent's id: the agent's role or status changed.
	AgentTopic string
	// AudienceTopic is an agent or role:<role_id>: a further intent began to reach it.
	AudienceTopic string
	// Reached is an AudienceTopic with the number of that intent. It wakes whoever listens under the AudienceTopic.
	Reached struct {
		Audience AudienceTopic
		IntentNo int64
	}
	// SubscriptionTopic is the number of a subscription of the room above: what waits in it, or who receives it, changed.
	SubscriptionTopic int64
	// LeaseTopic is an intent's number: a lease of the room above has ended there.
	LeaseTopic int64
)

// NewHub makes a hub that nobody listens to yet.
func NewHub() *Hub { return &Hub{listeners: make(map[any]map[*Listener]struct{})} }

// Listen begins to listen under the topics. One can listen for a thing before it exists. Call Close when done.
func (h *Hub) Listen(topics ...any) *Listener { return h.ListenFor("", topics...) }

// ListenLooking is Listen for a party that takes nothing that is handed over: it is only woken, and looks.
func (h *Hub) ListenLooking(topics ...any) *Listener {
	l := &Listener{hub: h, wake: make(chan struct{}, 1), looks: true}
	l.Also(topics...)
	return l
}

// ListenCalling is Listen for a party that has very many listeners. Each wake-up calls the function, instead of filling a
// channel on which a goroutine would have to wait. All other wake-ups wait for the function, so it must not block, and it
// must not use the hub. Add topics with Also.
func (h *Hub) ListenCalling(woken func()) *Listener {
	return &Listener{hub: h, calls: woken, looks: true}
}

// ListenFor is Listen on behalf of an agent. The hub's users may need the agent's record to hand over what comes.
func (h *Hub) ListenFor(agent string, topics ...any) *Listener {
	l := &Listener{hub: h, agent: agent, wake: make(chan struct{}, 1)}
	l.Also(topics...)
	return l
}

// manyTopics is for how many topics at a time a listener keeps the hub's mutex, so that all wake-ups wait only briefly for it.
const manyTopics = 256

// Also listens under further topics.
func (l *Listener) Also(topics ...any) {
	for some := range slices.Chunk(topics, manyTopics) {
		l.also(some)
	}
}

func (l *Listener) also(topics []any) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	for _, topic := range topics {
		if l.hub.listeners[topic] == nil {
			l.hub.listeners[topic] = make(map[*Listener]struct{}, 1)
		}
		l.hub.listeners[topic][l] = struct{}{}
	}
	l.topics = append(l.topics, topics...)
}

// Forget stops listening under some of the topics.
func (l *Listener) Forget(topics ...any) {
	if len(topics) == 0 {
		return
	}
	l.leave(topics)
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	dropped := make(map[any]struct{}, len(topics)) // there may be very many
	for _, topic := range topics {
		dropped[topic] = struct{}{}
	}
	l.topics = slices.DeleteFunc(l.topics, func(topic any) bool {
		_, gone := dropped[topic]
		return gone
	})
}

// Close stops listening.
func (l *Listener) Close() {
	l.hub.mutex.Lock()
	topics := l.topics
	l.topics = nil
	if l.of != nil {
		delete(l.of.members, l)
		l.of = nil
	}
	l.hub.mutex.Unlock()
	l.leave(topics)
	l.roused.Store(false)
}

func (l *Listener) leave(topics []any) {
	for some := range slices.Chunk(topics, manyTopics) {
		l.leaveFew(some)
	}
}

func (l *Listener) leaveFew(topics []any) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	for _, topic := range topics {
		delete(l.hub.listeners[topic], l)
		if len(l.hub.listeners[topic]) == 0 {
			delete(l.hub.listeners, topic)
		}
	}
}

// listening returns those who listen under a topic. The mutex is held.
func (h *Hub) listening(topic any) map[*Listener]struct{} {
	if reached, is := topic.(Reached); is {
		topic = reached.Audience
	}
	return h.listeners[topic]
}

// WakeUp asks everyone who listens under the topics, here and on other replicas, to look again. Call it after the commit of
// what there is to see.
func (h *Hub) WakeUp(topics ...any) {
	h.wakeHere(topics...)
	if h.tell != nil {
		h.tell(topics)
	}
}

// WakeWith is WakeUp for what a transaction of this replica has certainly committed. It hands those who listen here what
// the transaction stored: the function stored is asked for the topics under which somebody takes what is handed over, and
// returns a handover for each. A topic for which it returns none is woken all the same.
func (h *Hub) WakeWith(stored func(heard []any) map[any]*Handover, topics ...any) {
	if heard := h.Heard(topics); len(heard) > 0 { // whoever begins to listen after this has yet to look
		var given map[any]*Handover
		if taken := h.taken(heard); len(taken) > 0 {
			given = stored(taken)
		}
		h.mutex.Lock()
		for _, topic := range heard {
			for l := range h.listening(topic) {
				l.give(topic, given[topic])
			}
		}
		h.mutex.Unlock()
	}
	if h.tell != nil {
		h.tell(topics)
	}
}

// WaitingFor returns the agents for which listeners here await what the topic names.
func (h *Hub) WaitingFor(topic any) (agentIDs []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for l := range h.listening(topic) {
		if l.agent != "" {
			agentIDs = append(agentIDs, l.agent)
		}
	}
	return agentIDs
}

// Heard returns the topics that somebody here listens under.
func (h *Hub) Heard(topics []any) (heard []any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		if len(h.listening(topic)) > 0 {
			heard = append(heard, topic)
		}
	}
	return heard
}

// taken returns those of the topics under which somebody takes what is handed over.
func (h *Hub) taken(heard []any) (taken []any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range heard {
		for l := range h.listening(topic) {
			if l.takes() {
				taken = append(taken, topic)
				break
			}
		}
	}
	return taken
}

// WakeNamed asks everyone who waits for what reaches these agents to look again, because an intent begins to reach them.
func (h *Hub) WakeNamed(intentNo int64, agentIDs []string) {
	topics := make([]any, len(agentIDs))
	for i, agentID := range agentIDs {
		topics[i] = Reached{AudienceTopic(agentID), intentNo}
	}
	h.WakeUp(topics...)
}

// wakeAll asks every listener here to look again, each once.
func (h *Hub) wakeAll() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.giveAll()
}

// giveAll wakes every listener here once. The mutex is held.
func (h *Hub) giveAll() {
	woken := make(map[*Listener]struct{})
	for _, listeners := range h.listeners {
		for l := range listeners {
			if _, already := woken[l]; !already {
				woken[l] = struct{}{}
				l.give(nil, nil)
			}
		}
	}
}

// wakeHere asks everyone here who listens under the topics to look again.
func (h *Hub) wakeHere(topics ...any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		for l := range h.listening(topic) {
			l.give(topic, nil)
		}
	}
}

// Woken returns the channel on which wake-ups arrive. Whoever calls it has looked after the wake-ups that it has received.
func (l *Listener) Woken() <-chan struct{} {
	if l.roused.Load() {
		l.rest()
	}
	return l.wake
}

// Take returns what the listener was handed since the last time, and tells whether it has to look. If it has, the look
// shows what it was handed too.
func (l *Listener) Take() (given []*Handover, look bool) {
	given, look = l.mailbox.take()
	return given, look || l.looks
}

// Stirred reports whether the listener was woken since the last time otherwise than by its group.
func (l *Listener) Stirred() bool { return l.stirred.Swap(false) }

// Signal asks the listener to look again.
func (l *Listener) Signal() { l.give(nil, nil) }

// give wakes the listener under a topic, nil standing for all, with what was stored; nil means that it has to look for itself.
func (l *Listener) give(topic any, stored *Handover) {
	if l.is != nil {
		l.is.give(topic, stored)
		return
	}
	l.stirred.Store(true)
	l.rouse(stored)
}

// rouse wakes the listener with what was stored.
func (l *Listener) rouse(stored *Handover) {
	if l.calls != nil {
		l.calls()
		return
	}
	if !l.looks {
		l.mailbox.put(stored)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
