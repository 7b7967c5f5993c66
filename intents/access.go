package intents

import (
	"time"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// Permission is a level of access to an intent. Levels are cumulative, so they compare with < and >.
type Permission int

// The levels, lowest first.
const (
	// PermissionNone allows nothing.
	PermissionNone Permission = iota
	// PermissionRead allows viewing and taking part in `intent` channels.
	PermissionRead
	// PermissionWrite also allows patching state, appending events and working on tasks. Write access that somebody gave
	// (see Rules.Given) also allows auditing channels.
	PermissionWrite
	// PermissionAdmin also allows changing status, access control, assignments and coordinators. An agent has it only if
	// somebody gave it.
	PermissionAdmin
)

// String returns the level's name on the wire and in the store.
func (p Permission) String() string {
	switch p {
	case PermissionRead:
		return "read"
	case PermissionWrite:
		return "write"
	case PermissionAdmin:
		return "admin"
	}
	return "none"
}

func parsePermission(stored string) Permission {
	switch stored {
	case "read":
		return PermissionRead
	case "write":
		return PermissionWrite
	case "admin":
		return PermissionAdmin
	}
	return PermissionNone
}

// Policy says what callers may do if no entry of an intent's access control list names them.
type Policy string

// The policies. An intent without a list has no policy; Config.DefaultAccess then says what everyone may do.
const (
	policyNone   Policy = ""
	PolicyOpen   Policy = "open"
	PolicyClosed Policy = "closed"
)

// PrincipalType is the kind of an access entry's principal.
type PrincipalType string

// The types of principals. Groups match nobody, because the server knows none.
const (
	PrincipalUser  PrincipalType = "user"
	PrincipalAgent PrincipalType = "agent"
	PrincipalGroup PrincipalType = "group"
)

// AccessEntry grants one principal a level of access to an intent.
type AccessEntry struct {
	ID            string
	PrincipalID   string
	PrincipalType PrincipalType
	Permission    Permission
	GrantedBy     string
	GrantedAt     time.Time
	ExpiresAt     time.Time // exclusive: at this time the entry no longer counts; zero: never
	Reason        *string
}

func (e AccessEntry) expired(now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt)
}

// Rules decide who may do what on one intent, as of one epoch of its head. They are immutable and safe to share; only the
// passing of time changes their answers (see NextChange).
type Rules struct {
	intentID string
	creator  string
	policy   Policy // policyNone: no list
	// closedWithoutList is the server's setting: an intent without a list is for related agents only.
	closedWithoutList bool
	entries           map[string][]AccessEntry
	assigned          map[string]struct{}
	coordinators      []Coordinator // without those whose stored status is failed over or completed
}

// IntentID returns the id of the intent that the rules belong to.
func (r *Rules) IntentID() string { return r.intentID }

// Level returns an agent's level at a time: the higher of the level that somebody gave it and the level that everyone has.
func (r *Rules) Level(agent string, operator bool, now time.Time) Permission {
	return max(r.Given(agent, operator, now), r.openness())
}

// Given returns the level that an agent has by its relation to the intent, and not because the intent is open. The operator,
// the creator and an active coordinator have admin. Any other agent has the highest level from its unexpired entries and
// its assignment. An assignment gives admin while the intent has no list, and write when it has one.
func (r *Rules) Given(agent string, operator bool, now time.Time) Permission {
	if operator || agent == r.creator || r.Coordinates(agent, now) {
		return PermissionAdmin
	}
	level := PermissionNone
	if _, ok := r.assigned[agent]; ok {
		level = PermissionWrite
		if r.policy == policyNone {
			level = PermissionAdmin
		}
	}
	for _, entry := range r.entries[agent] {
		if !entry.expired(now) {
			level = max(level, entry.Permission)
		}
	}
	return level
}

// openness returns the level that everyone has: read under an open list, write without a list unless such intents are closed,
// and otherwise none. It is never admin, because an admin decides what other agents may see and do.
func (r *Rules) openness() Permission {
	switch {
	case r.policy == PolicyOpen:
		return PermissionRead
	case r.policy == policyNone && !r.closedWithoutList:
		return PermissionWrite
	}
	return PermissionNone
}

// Coordinates reports whether the agent coordinates the intent. It does if one of its coordinator records is active or
// completing, has not expired, and has not been silent for longer than twice its interval.
func (r *Rules) Coordinates(agent string, now time.Time) bool {
	for i := range r.coordinators {
		if r.coordinators[i].AgentID == agent && r.coordinators[i].coordinates(now) {
			return true
		}
	}
	return false
}

// Coordinator returns the agent that is told as the intent's coordinator at a time: one that coordinates, or else one whose work has
// not ended, though it is silent or paused. Of several it is the first by name. It is empty if there is none.
func (r *Rules) Coordinator(now time.Time) (agent string) {
	acting := false
	for i := range r.coordinators {
		c := &r.coordinators[i]
		coordinates := c.coordinates(now)
		switch {
		case c.ended(now) || acting && !coordinates:
		case agent == "" || coordinates && !acting || c.AgentID < agent:
			agent, acting = c.AgentID, coordinates
		}
	}
	return agent
}

// Names reports whether the intent names the agent at a time; messages to everyone there then go to this agent too. The
// intent names its creator, the assigned agents, the agents with an unexpired access entry, and the coordinators whose work
// has not ended, even silent ones.
func (r *Rules) Names(agent string, now time.Time) bool {
	if _, assigned := r.assigned[agent]; assigned || agent == r.creator {
		return true
	}
	for _, entry := range r.entries[agent] {
		if !entry.expired(now) {
			return true
		}
	}
	return r.hasCoordinator(agent, now)
}

// Require returns nil if the acting agent has the level, and otherwise a refusal that names both levels and where to request
// access. The operator passes under its own name; where it acts for a named agent, that agent's own level decides.
func (r *Rules) Require(c caller.Caller, acting string, need Permission, now time.Time) error {
	if level := r.Level(acting, isOperator(c, acting), now); level < need {
		return r.refusal(need, level, "This needs %s access to the intent; the caller has %s.")
	}
	return nil
}

// RequireGiven is Require by the level that somebody gave the agent, for actions that openness alone must not allow.
func (r *Rules) RequireGiven(c caller.Caller, acting string, need Permission, now time.Time) error {
	if given := r.Given(acting, isOperator(c, acting), now); given < need {
		return r.refusal(need, given, "This needs %s access that somebody gave the agent, as an entry or an assignment does; "+
			"it was given %s.")
	}
	return nil
}

// refusal returns a fault that names both levels, in its sentence and as metadata.
func (r *Rules) refusal(need, has Permission, sentence string) error {
	return fault.New(fault.Denied, "FORBIDDEN", sentence, need, has).
		With("required_permission", need.String()).
		With("current_permission", has.String())
}

func isOperator(c caller.Caller, acting string) bool { return c.IsOperator && acting == c.Agent }

// NextChange returns the earliest time after now at which the passing of time alone changes an answer of these rules, because
// an entry or a coordinator expires or a coordinator has been silent for too long. It returns zero if there is no such time.
// Code that keeps a decision for longer than a call must decide again at that time.
func (r *Rules) NextChange(now time.Time) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, entries := range r.entries {
		for _, entry := range entries {
			consider(entry.ExpiresAt)
		}
	}
	for i := range r.coordinators {
		consider(r.coordinators[i].ExpiresAt)
		consider(r.coordinators[i].silentAt())
	}
	return next
}
