package intents

import (
	"time"

	"openintent/internal/jsonvalue"
)

// CoordinatorStatus is a coordinator's state.
type CoordinatorStatus string

// The statuses. A coordinator can also become Unresponsive or Completed by the passing of time alone.
const (
	CoordinatorRegistering  CoordinatorStatus = "registering"
	CoordinatorActive       CoordinatorStatus = "active"
	CoordinatorPaused       CoordinatorStatus = "paused"
	CoordinatorUnresponsive CoordinatorStatus = "unresponsive"
	CoordinatorFailedOver   CoordinatorStatus = "failed_over"
	CoordinatorCompleting   CoordinatorStatus = "completing"
	CoordinatorCompleted    CoordinatorStatus = "completed"
)

// CoordinatorType is the kind of a coordinator.
type CoordinatorType string

// The types of coordinators; nothing depends on them.
const (
	CoordinatorLLM       CoordinatorType = "llm"
	CoordinatorHuman     CoordinatorType = "human"
	CoordinatorComposite CoordinatorType = "composite"
	CoordinatorSystem    CoordinatorType = "system"
)

// Coordinator is an agent's right to coordinate one intent, for as long as its heartbeats arrive.
type Coordinator struct {
	IntentNo          int64
	ID                string
	IntentID          string
	AgentID           string
	Role              string
	SupervisorID      *string
	Type              CoordinatorType
	Status            CoordinatorStatus // as stored; see StatusAt
	Guardrails        jsonvalue.Object
	HeartbeatInterval time.Duration
	LastHeartbeatAt   time.Time
	GrantedAt         time.Time
	ExpiresAt         time.Time // zero: never
	Metadata          jsonvalue.Object
}

// StatusAt returns the status at a time. An expired coordinator is completed; a coordinator that has been silent for longer
// than twice its interval is unresponsive until its next heartbeat.
func (c *Coordinator) StatusAt(now time.Time) CoordinatorStatus {
	switch {
	case c.Status == CoordinatorFailedOver || c.Status == CoordinatorCompleted:
		return c.Status
	case !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt):
		return CoordinatorCompleted
	case c.Status == CoordinatorPaused:
		return c.Status
	case !now.Before(c.silentAt()):
		return CoordinatorUnresponsive
	}
	return c.Status
}

// silentAt returns the first moment that lies more than twice the interval after the last heartbeat.
func (c *Coordinator) silentAt() time.Time {
	return c.LastHeartbeatAt.Add(2*c.HeartbeatInterval + time.Microsecond)
}

// coordinates reports whether the record gives its agent the rights of a coordinator.
func (c *Coordinator) coordinates(now time.Time) bool {
	status := c.StatusAt(now)
	return status == CoordinatorActive || status == CoordinatorCompleting
}

// ended reports whether the coordination is over for good.
func (c *Coordinator) ended(now time.Time) bool {
	status := c.StatusAt(now)
	return status == CoordinatorFailedOver || status == CoordinatorCompleted
}
