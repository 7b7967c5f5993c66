package messaging

import (
	"openintent/caller"
	"openintent/messaging/wake"
)

// Watch wakes whoever reads an agent's feeds of several intents. A wake-up carries no truth: it says "look again". It may
// get lost, so look again after a while without one, too. Methods are not for several goroutines at once, but for C.
type Watch struct {
	listener *wake.Listener
	intents  map[int64]struct{}
	role     string
}

// WatchIntents begins a watch for an agent, of no intents yet. It wakes when something is stored in one of its intents,
// when their rules or the agent's record change, and when a further intent begins to reach the agent. Close it when done.
func (s *Service) WatchIntents(agentID string) *Watch {
	return &Watch{
		listener: s.hub.Listen(wake.AgentTopic(agentID), wake.AudienceTopic(agentID)),
		intents:  make(map[int64]struct{}),
	}
}

// WatchIntentsCalling is WatchIntents for who has very many watches: instead of filling a channel, for which somebody would
// have to wait, each wake-up calls a function. It holds up other wake-ups, so it must not block, and it must not use a Watch.
func (s *Service) WatchIntentsCalling(agentID string, woken func()) *Watch {
	return &Watch{
		listener: s.hub.ListenCalling(woken, wake.AgentTopic(agentID), wake.AudienceTopic(agentID)),
		intents:  make(map[int64]struct{}),
	}
}

// C gives the channel on which wake-ups arrive. Those that come while nobody receives merge into one.
func (w *Watch) C() <-chan struct{} { return w.listener.Woken() }

// Intents sets which intents are watched, and tells whether there are new ones among them. Set them before reading them: what
// is stored later wakes.
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

// Role sets the role that the agent holds, so that a further intent's beginning to reach the role wakes too; empty: none. It
// tells whether there is a new one.
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

// WakeSubscription wakes those watches, on every replica, that listen to a subscription by this number. The room above calls
// it after the commit of what there is to see.
func (s *Service) WakeSubscription(no int64) { s.hub.WakeUp(wake.SubscriptionTopic(no)) }

// Wake wakes this watch alone: somebody has seen for it that there is something to see.
func (w *Watch) Wake() { w.listener.Signal() }

// Close ends the watch.
func (w *Watch) Close() { w.listener.Close() }
