package messaging

import (
	"slices"
	"sync"

	"openintent/channels"
)

// hub wakes whoever waits for something to happen. A wake-up carries no truth: it says "look again", and looking reads
// the store, unless what was stored was handed over with it (handover.go). A lost wake-up therefore delays and never loses;
// whoever waits also looks again after a while without one.
//
// Waiting parties listen under topics: followers of a channel under its key, askers under their request's id. An asker
// is woken by answers to its own request only, so that a busy channel does not wake all its askers.
type hub struct {
	// tell tells the other replicas of topics; nil when there are none, or they are not told. It is set before the first
	// wake-up and does not block.
	tell func(topics []any)

	mutex     sync.Mutex
	listeners map[any]map[*listener]struct{}
}

// listener is one waiting party. Wakes that come while it is not waiting merge into one.
type listener struct {
	hub    *hub
	topics []any
	wake   chan struct{}
	// calls, when set, is called instead. It holds up all wake-ups, so it does not block, and it calls nothing of the hub.
	calls func()

	// agent is for whom an answer is awaited; empty for other parties.
	agent string
	hands hands
}

// Beside a channel's key, which its followers listen under:
type (
	requestTopic      string       // a request's id: an answer was stored
	closingTopic      channels.Key // the channel was changed or closed
	intentTopic       int64        // access, or another rule of the intent, changed
	feedTopic         int64        // something was stored in the intent's log
	agentTopic        string       // the agent's role or status changed
	audienceTopic     string       // an agent or role:<role_id>: an intent began to reach it
	subscriptionTopic int64        // a subscription of the room above: what waits in it, or who receives it, changed
)

func newHub() *hub { return &hub{listeners: make(map[any]map[*listener]struct{})} }

// listen begins listening under the topics; a topic may be listened for before the thing it names exists. Call close
// when done.
func (h *hub) listen(topics ...any) *listener { return h.listenFor("", topics...) }

// listenCalling is listen for who has very many listeners: instead of filling a channel, for which somebody would have to
// wait, each wake-up calls a function. It holds up other wake-ups, so it must not block, and it must not use the hub.
func (h *hub) listenCalling(woken func(), topics ...any) *listener {
	l := &listener{hub: h, calls: woken}
	l.also(topics...)
	return l
}

// listenFor is listen for an agent's sake, whose record may be needed to hand it what comes.
func (h *hub) listenFor(agent string, topics ...any) *listener {
	l := &listener{hub: h, agent: agent, wake: make(chan struct{}, 1)}
	l.also(topics...)
	return l
}

// also listens under further topics.
func (l *listener) also(topics ...any) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	for _, topic := range topics {
		if l.hub.listeners[topic] == nil {
			l.hub.listeners[topic] = make(map[*listener]struct{})
		}
		l.hub.listeners[topic][l] = struct{}{}
	}
	l.topics = append(l.topics, topics...)
}

// forget ends listening under some of the topics.
func (l *listener) forget(topics ...any) {
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

// close ends listening.
func (l *listener) close() {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	l.leave(l.topics)
	l.topics = nil
}

func (l *listener) leave(topics []any) {
	for _, topic := range topics {
		delete(l.hub.listeners[topic], l)
		if len(l.hub.listeners[topic]) == 0 {
			delete(l.hub.listeners, topic)
		}
	}
}

// wakeUp asks everyone who listens under the topics, here and on other replicas, to look again. Call it after the commit
// of what there is to see.
func (h *hub) wakeUp(topics ...any) {
	h.wakeHere(topics...)
	if h.tell != nil {
		h.tell(topics)
	}
}

// wakeWith is wakeUp for what a transaction of this replica has certainly committed. Those who listen here are handed over
// what it stored: stored gives that for those of the topics that somebody listens under. A topic without any is woken all
// the same.
func (h *hub) wakeWith(stored func(heard []any) map[any]*handover, topics ...any) {
	if heard := h.heard(topics); len(heard) > 0 { // who begins to listen from here on has yet to look
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

// waitingFor gives the agents for whom what the topic names is awaited here.
func (h *hub) waitingFor(topic any) (agentIDs []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for l := range h.listeners[topic] {
		if l.agent != "" {
			agentIDs = append(agentIDs, l.agent)
		}
	}
	return agentIDs
}

// heard gives those of the topics that somebody here listens under.
func (h *hub) heard(topics []any) (heard []any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		if len(h.listeners[topic]) > 0 {
			heard = append(heard, topic)
		}
	}
	return heard
}

// wakeNamed asks those to look again who wait for what reaches the agents.
func (h *hub) wakeNamed(agentIDs []string) {
	topics := make([]any, len(agentIDs))
	for i, agentID := range agentIDs {
		topics[i] = audienceTopic(agentID)
	}
	h.wakeUp(topics...)
}

// wakeAll asks everyone here to look again.
func (h *hub) wakeAll() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, listeners := range h.listeners {
		for l := range listeners {
			l.signal()
		}
	}
}

// wakeHere asks everyone here who listens under the topics to look again.
func (h *hub) wakeHere(topics ...any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		for l := range h.listeners[topic] {
			l.signal()
		}
	}
}

// woken gives the channel on which wake-ups arrive.
func (l *listener) woken() <-chan struct{} { return l.wake }

// take gives what was handed to the listener since the last time, and tells whether it is to look, which sees that too.
func (l *listener) take() (given []*handover, look bool) { return l.hands.take() }

// signal asks the listener to look again.
func (l *listener) signal() { l.give(nil) }

// give wakes the listener with what was stored; nil: it is to look for itself.
func (l *listener) give(stored *handover) {
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
