package channels

import (
	"time"

	"openintent/intents"
	"openintent/internal/caller"
)

// Participates reports whether the agent may see and post messages. It needs read access to the intent and, under the explicit
// policy, must be a listed member. The operator always may. A guest needs no access, and must be a listed member under both
// policies.
func (r *Rules) Participates(agent string, operator bool, access *intents.Rules, departedAt, now time.Time) bool {
	if operator {
		return true
	}
	if caller.IsGuest(agent) {
		return r.Lists(agent, departedAt)
	}
	if access.Level(agent, false, now) < intents.PermissionRead {
		return false
	}
	return r.Policy == PolicyIntent || r.Lists(agent, departedAt)
}

// Lists reports whether the agent is on the member list. departedAt is the agent's last departure, or zero if there was none. A
// departure ends every membership that began before it or at the same instant, even if the agent has registered again.
func (r *Rules) Lists(agent string, departedAt time.Time) bool {
	m, listed := r.listed[agent]
	return listed && outlasts(m.addedAt, departedAt)
}

// outlasts reports whether a membership that began at addedAt lasts beyond the agent's last departure.
func outlasts(addedAt, departedAt time.Time) bool {
	return departedAt.IsZero() || addedAt.After(departedAt)
}
