package replay

import (
	"slices"
	"time"

	"openintent/caller"
	"openintent/messaging/message"
)

// spot is where agents write to each other: a thread or, for what stands in no thread, a channel.
type spot struct{ channel, thread string }

// turn is one message of an exchange.
type turn struct {
	sender string
	at     time.Time
	// others are the address, unless it means everyone, and the names that the message mentions.
	others []string
}

func turnOf(m *message.Message) turn {
	now := turn{sender: m.Sender, at: m.CreatedAt}
	if !message.ToEveryone(m.Target) {
		now.others = append(now.others, m.Target)
	}
	if m.Conversation != nil {
		now.others = append(now.others, m.Conversation.Mentions...)
	}
	return now
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
	// last are the times of the last turns, as many as the budget has.
	last []time.Time
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

// braked counts a message and tells whether the brake holds it back. Whoever else writes to the spot, and time, end a brake. What is
// written to somebody else than the two, or mentions somebody else, is no part of their exchange. The operator is no agent: when it
// writes, the exchange begins anew.
func (t *turns) braked(at spot, now turn) bool {
	if t.budget == 0 {
		return false
	}
	e := t.spots[at]
	if e != nil && e.among(now.sender) && slices.ContainsFunc(now.others, func(name string) bool { return !e.among(name) }) {
		return false
	}
	if e != nil && t.stands(e, now.at) && e.among(now.sender) {
		return true
	}
	if e == nil || !e.braked.IsZero() || !e.among(now.sender) || now.sender == caller.Operator {
		e = &exchange{latest: make(map[string]time.Time)}
		t.spots[at] = e
	}
	switch {
	case now.sender == caller.Operator:
		return false
	case t.exceeded(e, now.at):
		e.braked = now.at
		return true
	}
	e.latest[now.sender] = now.at
	e.last = append(e.last, now.at)
	e.last = e.last[max(0, len(e.last)-t.budget):]
	return false
}

// stands tells whether a brake holds at a time.
func (t *turns) stands(e *exchange, now time.Time) bool {
	return !e.braked.IsZero() && now.Sub(e.braked) < t.within
}

// exceeded tells whether one message more is too many: both agents have written within the time, and the budget is used up.
func (t *turns) exceeded(e *exchange, now time.Time) bool {
	if len(e.last) < t.budget || len(e.latest) < 2 || now.Sub(e.last[0]) >= t.within {
		return false
	}
	for _, latest := range e.latest {
		if now.Sub(latest) >= t.within {
			return false
		}
	}
	return true
}

// among tells whether the agent is one of the two, or can become one.
func (e *exchange) among(agent string) bool {
	_, known := e.latest[agent]
	return known || len(e.latest) < 2
}
