package messaging

import (
	"context"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/wake"
)

// Watched says what a watch is for.
type Watched struct {
	Agent string
	// IntentNo is the only intent that is watched. With 0 it is everything that reaches the agent.
	IntentNo int64
	// Takes is true for a party that takes what is handed over (Take).
	Takes bool
	// Calls is for a party that has very many watches. Each wake-up calls it, instead of filling a channel on which a goroutine would
	// have to wait. All other wake-ups wait for it, so it must not block, and it must not use a Watch.
	Calls func()
}

// Watch wakes whoever reads an agent's feeds. A wake-up carries no truth: it says "look again". After each one, Look says in which intents
// something may have happened. LookForMissed wakes it, a while later, for what no wake-up announced. Only C, Wake and Close may be called while
// another goroutine uses the Watch.
type Watch struct {
	service  *Service
	agent    string
	intentNo int64
	listener *wake.Listener

	// catchment is what is kept of the agent, for a watch of everything that reaches it, and moves is what the watch has not looked at. The
	// mutex of catchment guards moves.
	catchment *keptCatchment
	moves     Moves

	// seen is the state of the only intent that was last seen. The mutex of keptCatchments guards it.
	seen intents.State
}

// Moves are what a look finds: in which intents something may have happened since the look before it. An intent in which others only talk to
// each other is among them after very many messages.
type Moves struct {
	// Presence is the agent's record.
	Presence agents.Presence
	// All is true when it may have happened in any intent that reaches the agent, as at the first look.
	All     bool
	Intents map[int64]Move
}

// Move is what may have happened in an intent.
type Move struct {
	// Since is the position after which the log may have grown.
	Since int64
	// Ruled is true when the agent may see more or less than before, because it has just begun to be reached, rules have changed, or
	// commits were lost. Addressed is true when there may be a message from another agent that is for the agent or for everyone.
	Ruled, Addressed bool
}

// note adds what has happened in an intent to what has not been looked at.
func (m *Moves) note(intentNo int64, move Move) {
	if m.All {
		return
	}
	if earlier, known := m.Intents[intentNo]; known {
		move = Move{min(move.Since, earlier.Since), move.Ruled || earlier.Ruled, move.Addressed || earlier.Addressed}
	} else {
		m.add(1)
	}
	if m.All {
		return
	}
	if m.Intents == nil {
		m.Intents = make(map[int64]Move)
	}
	m.Intents[intentNo] = move
}

// add makes room for further intents. If there are too many, everything has to be looked at.
func (m *Moves) add(count int) {
	if len(m.Intents)+count > maxMoves {
		m.All, m.Intents = true, nil
	}
}

// Watch begins a watch. It wakes when something is stored in one of its intents, when their rules or the agent's record change, and when
// a further intent begins to reach the agent. Call Close when done.
func (s *Service) Watch(watched Watched) *Watch {
	w := &Watch{service: s, agent: watched.Agent, intentNo: watched.IntentNo, listener: s.listenerOf(watched)}
	if watched.IntentNo == 0 {
		s.catchments.join(w)
		return w
	}
	w.listener.Also(wake.AgentTopic(w.agent), wake.FeedTopic(w.intentNo), wake.IntentTopic(w.intentNo))
	s.catchments.joinNarrow(w)
	return w
}

func (s *Service) listenerOf(watched Watched) *wake.Listener {
	switch {
	case watched.Calls != nil:
		return s.hub.ListenCalling(watched.Calls)
	case watched.Takes:
		return s.hub.Listen()
	}
	return s.hub.ListenLooking()
}

// WatchLeases begins a watch for an agent that waits for a lease in an intent. It wakes when a lease ends there (WakeLeases), and when the
// agent's record changes.
func (s *Service) WatchLeases(agent string, intentNo int64) *Watch {
	return &Watch{service: s, agent: agent, listener: s.hub.ListenLooking(wake.AgentTopic(agent), wake.LeaseTopic(intentNo))}
}

// WakeLeases wakes the watches, on every replica, that wait for a lease in an intent. The room above calls it after a commit that ended a
// lease.
func (s *Service) WakeLeases(intentNo int64) { s.hub.WakeUp(wake.LeaseTopic(intentNo)) }

// C returns the channel on which wake-ups arrive. Wake-ups that come while nobody receives merge into one.
func (w *Watch) C() <-chan struct{} { return w.listener.Woken() }

// Take returns what was handed over since the last time, and tells whether only a look shows what has happened. If so, the look
// shows what was handed over too.
func (w *Watch) Take() (given []*wake.Handover, look bool) { return w.listener.Take() }

// Look says in which intents something may have happened since the latest look. All watches of an agent share the reading that finds it
// out. Whatever is stored after that reading wakes the watch. A watch of one intent finds nothing out; its caller reads that intent.
func (w *Watch) Look(ctx context.Context) (Moves, error) {
	k := w.catchment
	if w.listener.Stirred(); k == nil {
		return Moves{}, nil
	}
	if err := k.look(ctx); err != nil {
		return Moves{}, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	found := w.moves
	found.Presence, w.moves = k.presence, Moves{}
	return found, nil
}

// Worth reports whether a look is worth it after a wake-up. It is not if nothing has happened since the latest look but what others have
// said to each other.
func (w *Watch) Worth(ctx context.Context) (bool, error) {
	k := w.catchment
	if k == nil || w.listener.Stirred() {
		return true, nil
	}
	if err := k.look(ctx); err != nil {
		return false, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return w.moves.All || len(w.moves.Intents) > 0, nil
}

// After returns up to so many of the intents that reach the agent, as they were when somebody last looked: those with the lowest numbers
// above a given one.
func (w *Watch) After(intentNo int64, most int) []int64 { return w.catchment.after(intentNo, most) }

// Refresh makes the next look read everything that is kept of the agent, because the caller has seen that something else is stored.
func (w *Watch) Refresh() {
	if w.catchment != nil {
		w.catchment.refresh()
	}
}

// Saw notes the state in which the caller has seen the only intent. Then LookForMissed wakes the watch when the intent has another state.
func (w *Watch) Saw(state intents.State) {
	w.service.catchments.mutex.Lock()
	defer w.service.catchments.mutex.Unlock()
	w.seen = state
}

// Subscription makes WakeSubscription wake too.
func (w *Watch) Subscription(no int64) { w.listener.Also(wake.SubscriptionTopic(no)) }

// WakeSubscription wakes the watches, on every replica, that listen for the subscription with this number. The room above
// calls it after the commit of what there is to see.
func (s *Service) WakeSubscription(no int64) { s.hub.WakeUp(wake.SubscriptionTopic(no)) }

// Wake wakes this watch alone, when somebody else has seen that there is something to see.
func (w *Watch) Wake() { w.listener.Signal() }

// Close ends the watch.
func (w *Watch) Close() {
	w.listener.Close()
	w.service.catchments.leave(w)
}

// presenceOf reads an agent's record.
func presenceOf(tx *database.Tx, agent string) (agents.Presence, error) {
	presences, err := agents.LoadPresences(tx, []string{agent})
	return presenceIn(presences, agent), err
}

// presenceIn returns an agent's record. The record of an agent that is not registered is empty but for its id.
func presenceIn(presences map[string]agents.Presence, agent string) agents.Presence {
	presence := presences[agent]
	presence.AgentID = agent
	return presence
}
