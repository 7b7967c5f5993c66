package message

import (
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
)

// Viewer is the agent that looks at a channel, as of one snapshot: its roles and memberships are those of that moment, and
// so are the requests that are still open.
type Viewer struct {
	// Agent is the agent that looks.
	Agent string
	// Operator is true for the operator when it acts under its own name: it sees everything.
	Operator bool
	// Participates tells whether the agent may take part in the channel. It needs access to the intent and, on an explicit
	// channel, membership.
	Participates bool
	// HistoryFloor is an ordinal. The viewer does not see what others sent up to there, because they sent it before the
	// channel was opened, or before the viewer joined.
	HistoryFloor int64
	// Presence is the agent's record; it is zero for an agent that is not registered.
	Presence agents.Presence
	// Now is the time of the snapshot.
	Now time.Time
}

// NewViewer returns the viewer of a channel for an agent's record, by the rules as of a time.
func NewViewer(
	channel *channels.Rules, presence agents.Presence, operator bool, access *intents.Rules, now time.Time,
) Viewer {
	agent, departedAt := presence.AgentID, presence.DepartedAt
	viewer := Viewer{
		Agent: agent, Operator: operator, Presence: presence, Now: now,
		Participates: channel.Participates(agent, operator, access, departedAt, now),
	}
	if !operator {
		viewer.HistoryFloor = channel.HistoryFloor(agent, departedAt)
	}
	return viewer
}

// RequireParticipation refuses a viewer that may not take part in the channel, because it has no access to the intent or
// because it has access but is no member.
func (v Viewer) RequireParticipation(by caller.Caller, access *intents.Rules) error {
	if v.Participates {
		return nil
	}
	if caller.IsGuest(v.Agent) {
		return channels.ErrGuestLeft
	}
	if err := access.Require(by, v.Agent, intents.PermissionRead, v.Now); err != nil {
		return err
	}
	return ErrNotMember
}

// ActsAsOperator reports whether the operator acts under its own name. When it names an agent, that agent's rules apply.
func ActsAsOperator(by caller.Caller, acting string) bool { return by.IsOperator && acting == by.Agent }
