package replay

import "time"

// spot is where agents write to each other: a thread or, for what stands in no thread, a channel.
type spot struct{ channel, thread string }

// turn is one message of an exchange.
type turn struct {
	sender string
	at     time.Time
}

// turns say which messages a brake holds back: those beyond the budget of what two agents alone exchange within a time. They depend on
// nothing but what they are told.
type turns struct {
	budget int
	within time.Duration
	spots  map[spot]*exchange
}

// exchange is what was written to one spot since a third agent wrote there.
type exchange struct {
	// last are the last turns, as many as the budget has.
	last []turn
	// latest are the times at which each of the agents wrote last; there are two at most.
	latest map[string]time.Time
	// braked is when the brake was put on; zero for none.
	braked time.Time
}

func newTurns(rules Rules) *turns {
	return &turns{budget: rules.TurnBudget, within: seconds(rules.TurnSeconds), spots: make(map[spot]*exchange)}
}

// knows tells whether anything was counted for a spot.
func (t *turns) knows(at spot) bool { return t.spots[at] != nil }

// braked counts a message and tells whether the brake holds it back. Whoever else writes to the spot, and time, end a brake.
func (t *turns) braked(at spot, now turn) bool {
	if t.budget == 0 {
		return false
	}
	e := t.spots[at]
	if e != nil && !e.braked.IsZero() && e.among(now.sender) && now.at.Sub(e.braked) < t.within {
		return true
	}
	if e == nil || !e.braked.IsZero() || !e.among(now.sender) {
		e = &exchange{latest: make(map[string]time.Time)}
		t.spots[at] = e
	}
	if t.exceeds(e, now) {
		e.braked = now.at
		return true
	}
	e.latest[now.sender] = now.at
	e.last = append(e.last, now)
	e.last = e.last[max(0, len(e.last)-t.budget):]
	return false
}

// exceeds tells whether a message is one more than the budget within the time, and the other agent has written in that time.
func (t *turns) exceeds(e *exchange, now turn) bool {
	if len(e.last) < t.budget || now.at.Sub(e.last[0].at) >= t.within {
		return false
	}
	for agent, latest := range e.latest {
		if agent != now.sender && now.at.Sub(latest) < t.within {
			return true
		}
	}
	return false
}

// among tells whether the agent is one of the two, or can become one.
func (e *exchange) among(agent string) bool {
	_, known := e.latest[agent]
	return known || len(e.latest) < 2
}
