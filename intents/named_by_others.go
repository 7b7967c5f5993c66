package intents

import (
	"slices"
	"time"
)

// TiedWithout reports whether the intent names the agent at a time (see Names), and not because one of the others made it do so. An agent
// has what it made itself, and what somebody other than these granted to it. Nothing says who assigned an agent or made it the coordinator;
// that counts as done by the others if one of them made the intent.
func (r *Rules) TiedWithout(agent string, others []string, now time.Time) bool {
	theirs := slices.Contains(others, r.creator)
	if agent == r.creator {
		return !theirs
	}
	for _, entry := range r.entries[agent] {
		if !entry.expired(now) && !slices.Contains(others, entry.GrantedBy) {
			return true
		}
	}
	_, assigned := r.assigned[agent]
	return !theirs && (assigned || r.hasCoordinator(agent, now))
}

// hasCoordinator reports whether the agent is a coordinator whose work has not ended, even a silent one.
func (r *Rules) hasCoordinator(agent string, now time.Time) bool {
	return slices.ContainsFunc(r.coordinators, func(c Coordinator) bool {
		return c.AgentID == agent && c.StatusAt(now) != CoordinatorCompleted && c.Status != CoordinatorFailedOver
	})
}
