package claims

import "fmt"

// Kind is what happened to a request.
type Kind string

// The kinds.
const (
	// Claimed says that an agent got a claim with a fence.
	Claimed Kind = "claimed"
	// Released says that a claim ended, and why.
	Released Kind = "released"
	// Answered says that an agent's answer with a fence was stored.
	Answered Kind = "answered"
	// Died says that from here on the server counted an agent as dead, and Revived that it did so no longer.
	Died    Kind = "died"
	Revived Kind = "revived"
	// Swept says that a replica has just stored what has ended of the claims.
	Swept Kind = "swept"
)

// Entry is one thing that happened to a request.
type Entry struct {
	Kind   Kind
	Agent  string
	Fence  int64
	Reason string
}

// History is what happened to one request, in the order of the log.
type History struct {
	// Wanted is how many answers the request takes.
	Wanted  int
	Entries []Entry
	// Expired tells whether the request ended at its deadline.
	Expired bool
}

// keeps are the reasons after which a claim keeps its place until somebody else takes it.
var keeps = map[string]bool{"expired": true, "agent_dead": true, "agent_left": true, "access_lost": true, "role_lost": true}

// hold is a claim as the checker sees it. It is over once it has ended and keeps its place.
type hold struct {
	fence int64
	over  bool
}

// state is what the checker knows of the request after some entries.
type state struct {
	wanted   int
	holds    map[string]*hold
	answered map[string]bool
	dead     map[string]bool
	highest  int64
	findings []string
}

// Check returns what is wrong with a history; nothing if the promises were kept.
func Check(h History) []string {
	s := &state{wanted: h.Wanted, holds: make(map[string]*hold), answered: make(map[string]bool), dead: make(map[string]bool)}
	for i, e := range h.Entries {
		switch e.Kind {
		case Claimed:
			s.claimed(i, e)
		case Released:
			s.released(i, e)
		case Answered:
			s.answer(i, e)
		case Died:
			s.dead[e.Agent] = true
		case Revived:
			delete(s.dead, e.Agent)
		case Swept:
			s.settled(i)
		}
	}
	for agent, held := range s.holds {
		if !held.over {
			s.find(len(h.Entries), "the claim of %s was never ended", agent)
		}
	}
	switch full := len(s.answered) == h.Wanted; {
	case full && h.Expired:
		s.find(len(h.Entries), "the request has its answers and expired")
	case !full && !h.Expired:
		s.find(len(h.Entries), "nobody is left to end the request: %d of %d answers", len(s.answered), h.Wanted)
	}
	return s.findings
}

func (s *state) find(at int, format string, args ...any) {
	s.findings = append(s.findings, fmt.Sprintf("%d: ", at)+fmt.Sprintf(format, args...))
}

// claimed takes a place for an agent. If there is none that is free, it takes that of the oldest claim that is over.
func (s *state) claimed(at int, e Entry) {
	if e.Fence <= s.highest {
		s.find(at, "the fence of %s does not rise: %d after %d", e.Agent, e.Fence, s.highest)
	}
	s.highest = max(s.highest, e.Fence)
	if s.answered[e.Agent] || len(s.answered) >= s.wanted {
		s.find(at, "%s got a claim after the answer", e.Agent)
	}
	if s.dead[e.Agent] {
		s.find(at, "%s got a claim and is dead", e.Agent)
	}
	s.settled(at)
	if own := s.holds[e.Agent]; own != nil && !own.over {
		s.find(at, "%s got a second claim", e.Agent)
	}
	delete(s.holds, e.Agent)
	if len(s.holds)+len(s.answered) >= s.wanted {
		delete(s.holds, s.oldestOver())
	}
	if len(s.holds)+len(s.answered) >= s.wanted {
		s.find(at, "%s got a claim beyond the %d places", e.Agent, s.wanted)
	}
	s.holds[e.Agent] = &hold{fence: e.Fence}
}

// settled finds the claims that outlive their holders. A replica that sweeps or grants a claim has ended those of the dead before.
func (s *state) settled(at int) {
	for agent, held := range s.holds {
		if s.dead[agent] && !held.over {
			s.find(at, "the claim of %s outlives its death", agent)
		}
	}
}

func (s *state) oldestOver() (oldest string) {
	for agent, held := range s.holds {
		if held.over && (oldest == "" || held.fence < s.holds[oldest].fence) {
			oldest = agent
		}
	}
	return oldest
}

func (s *state) released(at int, e Entry) {
	held := s.holds[e.Agent]
	switch {
	case e.Reason == "responded":
		if !s.answered[e.Agent] {
			s.find(at, "the claim of %s ended with an answer that there is not", e.Agent)
		}
	case held == nil || held.over:
		s.find(at, "a claim of %s ended that there was not", e.Agent)
	case e.Reason == "agent_dead" && !s.dead[e.Agent]:
		s.find(at, "the claim of %s ended with its death, and it lives", e.Agent)
		held.over = true
	case keeps[e.Reason]:
		held.over = true
		if s.dead[e.Agent] && e.Reason != "agent_dead" {
			s.find(at, "the claim of %s, which is dead, ended as %s", e.Agent, e.Reason)
		}
	default:
		delete(s.holds, e.Agent)
	}
}

func (s *state) answer(at int, e Entry) {
	held := s.holds[e.Agent]
	switch {
	case s.answered[e.Agent]:
		s.find(at, "%s answered twice", e.Agent)
	case len(s.answered) >= s.wanted:
		s.find(at, "%s gave one answer too many", e.Agent)
	case held == nil:
		s.find(at, "%s answered without a place", e.Agent)
	case held.fence != e.Fence:
		s.find(at, "%s answered with fence %d instead of %d", e.Agent, e.Fence, held.fence)
	}
	delete(s.holds, e.Agent)
	s.answered[e.Agent] = true
}
