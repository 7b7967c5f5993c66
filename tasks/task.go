package tasks

import (
	"slices"
	"time"

	"openintent/internal/jsonvalue"
)

// Status is a task's state; see the package comment for the transitions.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"
	StatusReady     Status = "ready"
	StatusClaimed   Status = "claimed"
	StatusRunning   Status = "running"
	StatusBlocked   Status = "blocked"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusSkipped   Status = "skipped"
)

var transitions = map[Status][]Status{
	StatusPending: {StatusReady, StatusSkipped, StatusCancelled},
	StatusReady:   {StatusClaimed, StatusRunning, StatusCancelled},
	StatusClaimed: {StatusRunning, StatusCompleted, StatusCancelled},
	StatusRunning: {StatusCompleted, StatusFailed, StatusBlocked, StatusCancelled},
	StatusBlocked: {StatusRunning, StatusCancelled},
	StatusFailed:  {StatusReady, StatusCancelled}, // while attempts are left
}

// satisfies reports whether a dependent task no longer has to wait for a task in this status.
func (s Status) satisfies() bool { return s == StatusCompleted || s == StatusSkipped }

// Task is a piece of an intent's work. Empty texts, nil bytes and zero times stand for absent values.
type Task struct {
	IntentNo          int64
	IntentID          string
	ID                string
	PlanID            string
	Name, Description string
	Status            Status
	Version           int64
	Priority          int64
	Input, Output     jsonvalue.Object
	// Artifacts is the JSON text of a list.
	Artifacts            []byte
	AssignedAgent        string
	CapabilitiesRequired []string
	// DependsOn are the tasks that must be completed or skipped first; Blocks are those that wait for this one.
	DependsOn, Blocks []string
	ParentTaskID      string
	RetryPolicy       jsonvalue.Object
	TimeoutSeconds    *int64
	// Attempt is how many attempts have begun, out of MaxAttempts.
	Attempt, MaxAttempts int64
	BlockedReason        string
	// Permissions and Error are JSON texts of values of any kind.
	Permissions, Error []byte
	Metadata           jsonvalue.Object
	// CreatedAt strictly increases from task to task of an intent.
	CreatedAt time.Time
	// StartedAt is when the first attempt began; CompletedAt is when the task ended, in whatever way.
	StartedAt, CompletedAt time.Time
}

// Ended reports whether the task is over for good.
func (t *Task) Ended() bool {
	switch t.Status {
	case StatusCompleted, StatusCancelled, StatusSkipped:
		return true
	case StatusFailed:
		return t.Attempt >= t.MaxAttempts
	}
	return false
}

// mayBecome returns nil for a legal transition. It does not check whether a pending task's dependencies are met.
func (t *Task) mayBecome(next Status) error {
	if t.Ended() || !slices.Contains(transitions[t.Status], next) {
		return invalidTransition(t, next)
	}
	return nil
}

// become makes a legal transition at the given time.
func (t *Task) become(next Status, at time.Time) {
	previous := t.Status
	t.Status = next
	t.BlockedReason = ""
	switch {
	case next == StatusRunning && previous != StatusBlocked, next == StatusCompleted && previous == StatusClaimed:
		t.Attempt++
		if t.StartedAt.IsZero() {
			t.StartedAt = at
		}
	case next == StatusReady && previous == StatusFailed:
		t.AssignedAgent = ""
	}
	if t.Ended() {
		t.CompletedAt = at
	}
}

// eventOf names the event of a transition.
func eventOf(previous, next Status) string {
	switch {
	case next == StatusReady && previous == StatusFailed:
		return "task.retrying"
	case next == StatusRunning && previous == StatusBlocked:
		return "task.unblocked"
	case next == StatusRunning:
		return "task.started"
	}
	return "task." + string(next)
}
