package agents

import (
	"time"

	"openintent/jsonvalue"
)

// Status is where an agent stands in its lifecycle; see the package comment for the transitions.
type Status string

// The statuses.
const (
	// StatusRegistering is in the protocol's vocabulary, but no stored record is ever in it.
	StatusRegistering  Status = "registering"
	StatusActive       Status = "active"
	StatusDraining     Status = "draining"
	StatusUnhealthy    Status = "unhealthy"
	StatusDead         Status = "dead"
	StatusDeregistered Status = "deregistered"
)

// Present tells whether an agent in this status takes part: it holds its role, and its id is taken.
func (s Status) Present() bool {
	return s == StatusActive || s == StatusDraining || s == StatusUnhealthy
}

// mayBecome tells whether a change of status is legal that is asked for by name. Becoming deregistered always is.
func (s Status) mayBecome(next Status) bool {
	switch next {
	case StatusDeregistered:
		return true
	case StatusActive:
		return s == StatusUnhealthy
	case StatusUnhealthy:
		return s == StatusActive
	case StatusDraining:
		return s == StatusActive || s == StatusUnhealthy
	case StatusDead:
		return s == StatusUnhealthy || s == StatusDraining
	}
	return false
}

// Why the server itself changes a status; they appear in the server's log.
const (
	reasonSilence      = "heartbeat_timeout"
	reasonHeartbeat    = "heartbeat_resumed"
	reasonRevived      = "heartbeat_revived"
	reasonLeaving      = "leaving"
	reasonDrained      = "drain_timeout"
	reasonRegistered   = "registered"
	reasonDeregistered = "deregistered"
)

// Agent is one agent's record.
type Agent struct {
	ID string
	// RoleID is the role it holds; empty for none.
	RoleID string
	// RoleSince is since when it holds the role; zero without one. In some intents that is later (see Presence.RoleSinceIn).
	RoleSince time.Time
	roleAhead string
	// Name and Endpoint are for others to use; empty when not given.
	Name, Endpoint string
	// Capabilities is never nil, so that it is stored as a list.
	Capabilities []string
	// MaxConcurrentTasks and CurrentLoad are the agent's own word; nothing enforces them.
	MaxConcurrentTasks, CurrentLoad int64
	Status                          Status
	Silence                         Silence
	Metadata                        jsonvalue.Object
	RegisteredAt, LastHeartbeatAt   time.Time
	// DrainingSince is zero unless it drains.
	DrainingSince time.Time
	// DrainTimeoutSeconds is nil for an agent that drains without a limit.
	DrainTimeoutSeconds *int64
	// DepartedAt is the last deregistration, zero before the first; it is kept through a new registration.
	DepartedAt time.Time
	// KeyID says which API key registered it; it is never shown.
	KeyID   string
	Version int64
}

// Silence is how an agent's silence is judged, in seconds.
type Silence struct {
	// Interval is how often the agent promises a heartbeat.
	Interval int64
	// UnhealthyAfter is at least twice Interval, DeadAfter at least twice UnhealthyAfter.
	UnhealthyAfter, DeadAfter int64
}

// Values for what a registration leaves out.
const (
	defaultInterval           = 30
	defaultUnhealthyAfter     = 90
	defaultDeadAfter          = 300
	defaultMaxConcurrentTasks = 5
)

// newAgent is the record of a new registration before what the agent says about itself is applied to it.
func newAgent(id, keyID string, now time.Time) *Agent {
	return &Agent{
		ID:                 id,
		Capabilities:       []string{},
		MaxConcurrentTasks: defaultMaxConcurrentTasks,
		Status:             StatusActive,
		Silence:            Silence{Interval: defaultInterval, UnhealthyAfter: defaultUnhealthyAfter, DeadAfter: defaultDeadAfter},
		Metadata:           jsonvalue.Object("{}"),
		RegisteredAt:       now,
		LastHeartbeatAt:    now,
		KeyID:              keyID,
		Version:            1,
	}
}

// become changes the status; the caller has decided that it may.
func (a *Agent) become(next Status, now time.Time) {
	a.Status = next
	a.Version++
	if next != StatusDead { // a dead one that was draining drains again if it comes back
		a.DrainingSince = time.Time{}
	}
	switch next {
	case StatusActive:
		a.heard(now)
	case StatusDraining:
		a.DrainingSince = now
	case StatusDeregistered:
		a.DepartedAt = later(now, a.DepartedAt)
	}
}

// revive brings an agent back that counted as dead: as draining if it was draining when it fell silent, else as active.
func (a *Agent) revive(now time.Time) {
	if since := a.DrainingSince; !since.IsZero() {
		a.become(StatusDraining, since)
		return
	}
	a.become(StatusActive, now)
}

// heard notes a sign of life. The agent is locked, so a time before the last one means that the clock was set back: then
// silence counts from the clock's present time, or it would not begin before the clock is where it was.
func (a *Agent) heard(now time.Time) { a.LastHeartbeatAt = now }

// due tells which status time has brought, if it is another than the agent's.
func (a *Agent) due(h hearing) (next Status, reason string, due bool) {
	switch {
	case a.Status == StatusActive && a.silentFor(h, a.Silence.UnhealthyAfter):
		return StatusUnhealthy, reasonSilence, true
	case a.Status == StatusUnhealthy && a.silentFor(h, a.Silence.DeadAfter):
		return StatusDead, reasonSilence, true
	case a.Status == StatusDraining && a.drained(h.now):
		return StatusDeregistered, reasonDrained, true
	case a.Status == StatusDraining && a.DrainTimeoutSeconds == nil && a.silentFor(h, a.Silence.DeadAfter):
		return StatusDead, reasonSilence, true
	}
	return "", "", false
}

func (a *Agent) silentFor(h hearing, thresholdSeconds int64) bool {
	return h.now.Sub(later(a.LastHeartbeatAt, h.since)) > seconds(thresholdSeconds)
}

// setBack moves times that lie ahead of the clock to its present, because the clock was set back since they were noted. It
// tells whether there were any.
func (a *Agent) setBack(now time.Time) (changed bool) {
	for _, at := range []*time.Time{&a.LastHeartbeatAt, &a.DrainingSince} {
		if at.Sub(now) > clockSkew {
			*at, changed = now, true
		}
	}
	return changed
}

func (a *Agent) drained(now time.Time) bool {
	return a.DrainTimeoutSeconds != nil && now.Sub(a.DrainingSince) >= seconds(*a.DrainTimeoutSeconds)
}

// canAny tells whether the agent has at least one of the capabilities; asked for none, it has.
func (a *Agent) canAny(capabilities []string) bool {
	for _, wanted := range capabilities {
		for _, has := range a.Capabilities {
			if has == wanted {
				return true
			}
		}
	}
	return len(capabilities) == 0
}

// presence is what others judge the agent by.
func (a *Agent) presence() Presence {
	return Presence{
		AgentID: a.ID, RoleID: a.RoleID, RoleSince: a.RoleSince, roleAhead: a.roleAhead,
		Status: a.Status, DepartedAt: a.DepartedAt, Version: a.Version,
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
