package message

import (
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/intents"
)

// Viewer is who looks at a channel, as of one look: roles and membership are those of that moment, and so is which requests
// are still open.
type Viewer struct {
	// Agent is the looking agent.
	Agent string
	// Operator is true for the operator acting under its own name: it sees everything.
	Operator bool
	// Participates tells whether the agent may take part in the channel: access to the intent and, on an explicit
	// channel, membership.
	Participates bool
	// HistoryFloor is the ordinal up to which what others sent is not the viewer's to see, because it was said before the
	// channel was opened, or before the viewer joined.
	HistoryFloor int64
	// Presence is the agent's record; the zero value for an unregistered one.
	Presence agents.Presence
	// Now is the time of the look.
	Now time.Time
}

// NewViewer gives the viewer of a channel for an agent's record, by the rules as of a time.
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

// RequireParticipation refuses a viewer that may not take part in the channel: for want of access to the intent or, with that, of
// membership.
func (v Viewer) RequireParticipation(by caller.Caller, access *intents.Rules) error {
	if v.Participates {
		return nil
	}
	if err := access.Require(by, v.Agent, intents.PermissionRead, v.Now); err != nil {
		return err
	}
	return ErrNotMember
}

// ActsAsOperator tells whether the operator acts under its own name. When it names an agent, that agent's rules apply.
func ActsAsOperator(by caller.Caller, acting string) bool { return by.IsOperator && acting == by.Agent }
