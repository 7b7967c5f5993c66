package messaging

import (
	"openintent/caller"
	"openintent/database"
	"openintent/messaging/wake"
)

// Watch wakes whoever reads an agent's feeds of several intents. A wake-up carries no truth: it says "look again". It may
// get lost, so look again after a while without one, too. Only C may be called while another goroutine uses the Watch.
type Watch struct {
	listener *wake.Listener
	intents  map[int64]struct{}
	role     string
}

// WatchIntents begins a watch for an agent, of no intents yet. It wakes when something is stored in one of its intents,
// when their rules or the agent's record change, and when a further intent begins to reach the agent. Call Close when done.
func (s *Service) WatchIntents(agentID string) *Watch {
	return watching(s.hub.ListenLooking, agentID)
}

// WatchIntentsTaking is WatchIntents for a party that takes what is handed over (Take).
func (s *Service) WatchIntentsTaking(agentID string) *Watch {
	return watching(s.hub.Listen, agentID)
}

func watching(listen func(topics ...any) *wake.Listener, agentID string) *Watch {
	return &Watch{
		listener: listen(wake.AgentTopic(agentID), wake.AudienceTopic(agentID)),
		intents:  make(map[int64]struct{}),
	}
}

// WatchIntentsNoting is WatchIntents for a party that asks which intents woke it (Moved).
func (s *Service) WatchIntentsNoting(agentID string) *Watch {
	return watching(s.hub.ListenNoting, agentID)
}

// WatchIntentsCalling is WatchIntents for a party that has very many watches. Each wake-up calls the function, instead of
// filling a channel on which a goroutine would have to wait. All other wake-ups wait for the function, so it must not
// block, and it must not use a Watch.
func (s *Service) WatchIntentsCalling(agentID string, woken func()) *Watch {
	return watching(func(topics ...any) *wake.Listener { return s.hub.ListenCalling(woken, topics...) }, agentID)
}

// C returns the channel on which wake-ups arrive. Wake-ups that come while nobody receives merge into one.
func (w *Watch) C() <-chan struct{} { return w.listener.Woken() }

// Take returns what was handed over since the last time, and tells whether only a look shows what has happened. If so, the look
// shows what was handed over too.
func (w *Watch) Take() (given []*wake.Handover, look bool) { return w.listener.Take() }

// Moved returns the intents that woke a noting watch since the last time. known is false if anything else did that may change from
// where something reaches the agent, and for a watch that does not note.
func (w *Watch) Moved() (moved []int64, known bool) {
	if !w.listener.Notes() {
		return nil, false
	}
	topics, all := w.listener.Noted()
	moved, known = movedIn(topics, w.intents)
	return moved, known && !all
}

// movedIn returns the intents whose topics are among these. known is false if other topics are, or intents that nobody watches. What
// waits in a subscription moves no intent.
func movedIn[V any](topics map[any]struct{}, watched map[int64]V) (moved []int64, known bool) {
	for topic := range topics {
		var no int64
		switch topic := topic.(type) {
		case wake.FeedTopic:
			no = int64(topic)
		case wake.IntentTopic:
			no = int64(topic)
		case wake.SubscriptionTopic:
			continue
		default:
			return nil, false
		}
		if _, there := watched[no]; !there {
			return nil, false
		}
		moved = append(moved, no)
	}
	return database.Distinct(moved), true
}

// Intents sets which intents are watched, and tells whether there are new ones among them. Set them before you read them:
// then whatever is stored later wakes.
func (w *Watch) Intents(nos ...int64) (added bool) {
	wanted := make(map[int64]struct{}, len(nos))
	var further, dropped []any
	for _, no := range nos {
		wanted[no] = struct{}{}
		if _, watched := w.intents[no]; !watched {
			w.intents[no] = struct{}{}
			further = append(further, wake.FeedTopic(no), wake.IntentTopic(no))
		}
	}
	for no := range w.intents {
		if _, still := wanted[no]; !still {
			delete(w.intents, no)
			dropped = append(dropped, wake.FeedTopic(no), wake.IntentTopic(no))
		}
	}
	w.listener.Also(further...)
	w.listener.Forget(dropped...)
	return len(further) > 0
}

// Role sets the role that the agent holds, so that a further intent that begins to reach the role wakes too. An empty role
// means none. Role tells whether the role is a new one.
func (w *Watch) Role(roleID string) (added bool) {
	if roleID == w.role {
		return false
	}
	if w.role != "" {
		w.listener.Forget(wake.AudienceTopic(caller.RolePrefix + w.role))
	}
	if w.role = roleID; roleID != "" {
		w.listener.Also(wake.AudienceTopic(caller.RolePrefix + roleID))
	}
	return roleID != ""
}

// Subscription makes WakeSubscription wake too.
func (w *Watch) Subscription(no int64) { w.listener.Also(wake.SubscriptionTopic(no)) }

// WakeSubscription wakes the watches, on every replica, that listen for the subscription with this number. The room above
// calls it after the commit of what there is to see.
func (s *Service) WakeSubscription(no int64) { s.hub.WakeUp(wake.SubscriptionTopic(no)) }

// Leases makes WakeLeases wake too.
func (w *Watch) Leases(intentNo int64) { w.listener.Also(wake.LeaseTopic(intentNo)) }

// WakeLeases wakes the watches, on every replica, that listen for the leases of an intent. The room above calls it after a
// commit that ended a lease.
func (s *Service) WakeLeases(intentNo int64) { s.hub.WakeUp(wake.LeaseTopic(intentNo)) }

// Wake wakes this watch alone, when somebody else has seen that there is something to see.
func (w *Watch) Wake() { w.listener.Signal() }

// Close ends the watch.
func (w *Watch) Close() { w.listener.Close() }
