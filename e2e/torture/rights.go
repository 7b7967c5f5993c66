package torture

import (
	"slices"
	"strings"
)

// RightKind is the kind of a right: what it lets an agent do.
type RightKind int

const (
	// Access lets an agent see a restricted intent.
	Access RightKind = iota
	// Membership makes an agent a member of a channel.
	Membership
	// Role lets an agent hold a role.
	Role
	// Part lets an agent take part in an intent, so that messages to everyone there reach the agent's own streams.
	Part
	// Welcome lets an agent address messages to the agent that it is of, which does not refuse them.
	Welcome
)

// Right is a right that an agent had for a time.
type Right struct {
	Agent string
	Kind  RightKind
	// Of is the intent, channel, role or other agent.
	Of string
	// Granted and Withdrawn are the calls that changed the right; a zero Withdrawn means that it was never withdrawn.
	Granted, Withdrawn Span
}

// period is a stretch of time that includes both its ends.
type period struct{ from, to Tick }

// always is the single period of anything that needs no right.
var always = []period{{0, forever}}

// rights answers which agent could see what, and when. It keeps its answers, because there are few different ones.
type rights struct {
	history *History
	granted map[claim][]Right
	known   map[question][]period
}

type claim struct {
	agent string
	kind  RightKind
	of    string
}

// question asks when an agent may see a message of a channel to a target. If surely is true, it asks for the time in which the
// agent certainly may; otherwise, for the time in which it possibly may.
type question struct {
	agent, intent, channel, target string
	own, reaching, surely          bool
	// sent is the latest time at which the message was sent, if only the agents that held the role at that time may see it.
	// Otherwise it is zero.
	sent Tick
}

func newRights(h *History) *rights {
	r := &rights{history: h, granted: make(map[claim][]Right), known: make(map[question][]period)}
	for _, right := range h.Rights {
		key := claim{right.Agent, right.Kind, right.Of}
		r.granted[key] = append(r.granted[key], right)
	}
	return r
}

// periods returns the time in which an agent may see a message.
func (r *rights) periods(agent string, s *Send, reaching, surely bool) []period {
	q := question{agent, s.Intent, s.Channel, s.To, s.Sender == agent, reaching, surely, 0}
	if strings.HasPrefix(s.To, "role:") && s.Kind != Request && !surely && s.Span.Ended != 0 {
		q.sent = s.Span.Ended
	}
	answer, known := r.known[q]
	if !known {
		answer = r.decide(q)
		r.known[q] = answer
	}
	return answer
}

func (r *rights) decide(q question) []period {
	time := always
	if r.history.Intents[q.intent].Restricted {
		time = both(time, r.held(q, Access, q.intent))
	}
	if r.history.Channels[q.channel].Explicit {
		time = both(time, r.held(q, Membership, q.channel))
	}
	switch {
	case q.own || q.target == q.agent:
		return time
	case q.target == everyone:
		if q.reaching {
			time = both(time, r.held(q, Part, q.intent))
		}
		return time
	case strings.HasPrefix(q.target, "role:"):
		held := r.held(q, Role, strings.TrimPrefix(q.target, "role:"))
		if q.sent != 0 { // an agent that took the role later may not see it
			held = slices.DeleteFunc(held, func(p period) bool { return p.from > q.sent })
		}
		return both(time, held)
	}
	return nil
}

func (r *rights) held(q question, kind RightKind, of string) []period {
	var time []period
	for _, right := range r.granted[claim{q.agent, kind, of}] {
		withdrawn := right.Withdrawn
		if withdrawn == (Span{}) {
			withdrawn = Span{forever, forever}
		}
		if q.surely {
			time = append(time, period{right.Granted.Ended, withdrawn.Begun})
		} else {
			time = append(time, period{right.Granted.Begun, withdrawn.Ended})
		}
	}
	return time
}

// both returns the time that two lists of periods share.
func both(one, other []period) []period {
	var shared []period
	for _, a := range one {
		for _, b := range other {
			if from, to := max(a.from, b.from), min(a.to, b.to); from <= to {
				shared = append(shared, period{from, to})
			}
		}
	}
	return shared
}

// throughout reports whether one of the periods covers a whole stretch of time.
func throughout(periods []period, from, to Tick) bool {
	for _, p := range periods {
		if p.from <= from && to <= p.to {
			return true
		}
	}
	return false
}

// sometime reports whether one of the periods touches a stretch of time.
func sometime(periods []period, from, to Tick) bool {
	for _, p := range periods {
		if p.from <= to && from <= p.to {
			return true
		}
	}
	return false
}
