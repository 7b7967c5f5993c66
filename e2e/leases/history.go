package leases

import "fmt"

// Kind is what happened to a scope, or to an agent that works on it.
type Kind string

// The kinds. An agent is gone while it is dead or has no access. The test knows only between which entries of the log that begins
// and ends, so an agent may count as gone from Going to Returned, and must count as gone from Gone to Returning.
const (
	// Granted says that an agent got the lease with a fence, Ended that the lease ended, and why.
	Granted Kind = "granted"
	Ended   Kind = "ended"
	// Wrote says that an agent wrote to the resource with a fence.
	Wrote     Kind = "wrote"
	Going     Kind = "going"
	Gone      Kind = "gone"
	Returning Kind = "returning"
	Returned  Kind = "returned"
	// Swept says that a replica has just stored what has ended of the leases.
	Swept Kind = "swept"
)

// Entry is one thing that happened.
type Entry struct {
	Kind  Kind
	Agent string
	Fence int64
	// Reason is why a lease ended: released, expired, or as what the agent is gone: agent_dead or access_lost.
	Reason string
	// Accepted tells whether the resource took the write.
	Accepted bool
}

// hold is a lease as the checker sees it.
type hold struct {
	agent string
	fence int64
}

// absence is as what an agent is gone.
type absence struct{ agent, reason string }

// state is what the checker knows of the scope after some entries.
type state struct {
	holder *hold
	// owners are the agents by the fences that were granted, highest the last of these, and seen the highest that the resource saw.
	owners        map[int64]string
	highest, seen int64
	// may has those who may count as gone, must those who must.
	may, must map[absence]bool
	findings  []string
}

// Check returns what is wrong with the history of one scope; nothing if the promises were kept. All leases must have ended.
func Check(history []Entry) []string {
	s := &state{owners: make(map[int64]string), may: make(map[absence]bool), must: make(map[absence]bool)}
	for i, e := range history {
		switch of := (absence{e.Agent, e.Reason}); e.Kind {
		case Granted:
			s.granted(i, e)
		case Ended:
			s.ended(i, e)
		case Wrote:
			s.wrote(i, e)
		case Going:
			s.may[of] = true
		case Gone:
			s.must[of] = true
		case Returning:
			delete(s.must, of)
		case Returned:
			delete(s.may, of)
		case Swept:
			s.swept(i)
		}
	}
	if s.holder != nil {
		s.find(len(history), "the lease of %s was never ended", s.holder.agent)
	}
	return s.findings
}

func (s *state) find(at int, format string, args ...any) {
	s.findings = append(s.findings, fmt.Sprintf("%d: ", at)+fmt.Sprintf(format, args...))
}

func (s *state) granted(at int, e Entry) {
	if s.holder != nil {
		s.find(at, "%s and %s hold the scope", s.holder.agent, e.Agent)
	}
	if e.Fence <= s.highest {
		s.find(at, "the fence of %s does not rise: %d after %d", e.Agent, e.Fence, s.highest)
	}
	for of := range s.must {
		if of.agent == e.Agent {
			s.find(at, "%s got a lease and is gone: %s", e.Agent, of.reason)
		}
	}
	s.highest = max(s.highest, e.Fence)
	s.owners[e.Fence] = e.Agent
	s.holder = &hold{agent: e.Agent, fence: e.Fence}
}

func (s *state) ended(at int, e Entry) {
	switch {
	case s.holder == nil || *s.holder != hold{e.Agent, e.Fence}:
		s.find(at, "a lease of %s ended that there was not", e.Agent)
		return
	case (e.Reason == "agent_dead" || e.Reason == "access_lost") && !s.may[absence{e.Agent, e.Reason}]:
		s.find(at, "the lease of %s ended as %s, which is not so", e.Agent, e.Reason)
	}
	s.holder = nil
}

// swept finds a lease that outlives the death or the access of its holder.
func (s *state) swept(at int) {
	for of := range s.must {
		if s.holder != nil && s.holder.agent == of.agent {
			s.find(at, "the lease of %s is left: %s", of.agent, of.reason)
		}
	}
}

// wrote compares what the resource did with what a resource must do, and with what the holder of a lease may expect.
func (s *state) wrote(at int, e Entry) {
	switch owner := s.owners[e.Fence]; {
	case owner != e.Agent:
		s.find(at, "%s wrote with fence %d, which %q got", e.Agent, e.Fence, owner)
	case e.Accepted && e.Fence < s.seen:
		s.find(at, "the resource took fence %d of %s after fence %d", e.Fence, e.Agent, s.seen)
	case !e.Accepted && s.holder != nil && *s.holder == hold{e.Agent, e.Fence}:
		s.find(at, "the resource refused %s, which holds the scope", e.Agent)
	case !e.Accepted && e.Fence >= s.seen:
		s.find(at, "the resource refused fence %d of %s after fence %d", e.Fence, e.Agent, s.seen)
	}
	s.seen = max(s.seen, e.Fence)
}
