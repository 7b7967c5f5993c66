package agents

import (
	"time"

	"openintent/internal/jsonvalue"
)

// Status is an agent's state in its lifecycle; see the package comment for the transitions.
type Status string

// The statuses.
const (
	// StatusRegistering is in the protocol's vocabulary, but no stored record ever has it.
	StatusRegistering  Status = "registering"
	StatusActive       Status = "active"
	StatusDraining     Status = "draining"
	StatusUnhealthy    Status = "unhealthy"
	StatusDead         Status = "dead"
	StatusDeregistered Status = "deregistered"
)

// Present reports whether an agent in this status takes part. Such an agent holds its role, and its id is taken.
func (s Status) Present() bool {
	return s == StatusActive || s == StatusDraining || s == StatusUnhealthy
}

// mayBecome reports whether a caller may ask for a change from s to next. Deregistering is always legal.
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
	// RoleID is the role that the agent holds; empty for none.
	RoleID string
	// RoleSince is when the agent took the role; zero without one. In some intents it holds the role only from a later time
	// on (see Presence.RoleSinceIn).
	RoleSince time.Time
	roleAhead string
	// Name and Endpoint are for other agents to use; empty when not given.
	Name, Endpoint string
	// Capabilities is never nil, so that it is stored as a list.
	Capabilities []string
	// MaxConcurrentTasks and CurrentLoad are what the agent reports; nothing enforces them.
	MaxConcurrentTasks, CurrentLoad int64
	Status                          Status
	Silence                         Silence
	Metadata                        jsonvalue.Object
	RegisteredAt, LastHeartbeatAt   time.Time
	// DrainingSince is zero unless the agent is draining.
	DrainingSince time.Time
	// DrainTimeoutSeconds is nil for an agent that drains without a limit.
	DrainTimeoutSeconds *int64
	// DepartedAt is the time of the last deregistration, zero before the first. A new registration keeps it.
	DepartedAt time.Time
	// KeyID identifies the API key that registered the agent; clients never see it.
	KeyID   string
	Version int64
	// Note is what the agent says that it does; empty for nothing.
	Note string
	// refusals is as in Presence.
	refusals int64
	Suspicion
}

// Silence holds the thresholds for an agent's silence, in seconds.
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

// newAgent makes the record of a new registration with default values. The caller then applies what the agent says about
// itself.
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

// become changes the status; the caller has checked that the change is legal.
func (a *Agent) become(next Status, now time.Time) {
	a.Status = next
	a.Version++
	a.Suspicion = Suspicion{}
	if next != StatusDead { // a dead agent that was draining drains again if it comes back
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

// revive brings back an agent that counted as dead. It becomes draining if it was draining when it fell silent, and active
// otherwise.
func (a *Agent) revive(now time.Time) {
	if since := a.DrainingSince; !since.IsZero() {
		a.become(StatusDraining, since)
		return
	}
	a.become(StatusActive, now)
}

// heard notes a sign of life. The agent is locked, so a time before the last one means that the clock was set back. Silence
// then counts from the clock's present time; otherwise it would not begin until the clock reached the old time again.
func (a *Agent) heard(now time.Time) { a.LastHeartbeatAt = now }

// due returns the status that the agent should have by now, with the reason; due is false if it has that status already.
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

// setBack moves times that lie ahead of the clock to the present time, because the clock was set back after they were noted.
// It reports whether there were any.
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

// presence returns the part of the record that other rooms judge the agent by.
func (a *Agent) presence() Presence {
	return Presence{
		AgentID: a.ID, RoleID: a.RoleID, RoleSince: a.RoleSince, roleAhead: a.roleAhead,
		Status: a.Status, DepartedAt: a.DepartedAt, Version: a.Version, Refusals: a.refusals,
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
