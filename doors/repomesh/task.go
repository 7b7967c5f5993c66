package repomesh

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// task is a task in the protocol's form.
type task struct {
	ID          string  `json:"id"`
	TaskID      string  `json:"task_id"`
	Goal        string  `json:"goal"`
	Description string  `json:"description"`
	Status      string  `json:"status"`
	Priority    int32   `json:"priority"`
	Assignee    *string `json:"assignee"`
	AssigneeID  *string `json:"assignee_agent_id"`
	Version     int64   `json:"version"`
	Attempt     int32   `json:"attempt"`
	Blocked     *string `json:"blocked_reason,omitempty"`
	CreatedAt   string  `json:"created_at"`
	// Details are what agents wrote: findings, progress, summary, scope, acceptance_criteria and metadata.
	Details map[string]any `json:"details,omitempty"`
	// Cut is how many bytes the details have, if they are left out because of that.
	Cut int `json:"cut_from_bytes,omitempty"`
}

// The statuses of tasks, in the protocol's words.
const (
	// statusPending waits for other tasks. As a filter it stands for the open ones, too, which the reference calls so.
	statusPending                             = "pending"
	statusOpen, statusProgress, statusBlocked = "open", "in_progress", "blocked"
	statusCompleted, statusFailed             = "completed", "failed"
)

// taskStatuses are the protocol's words for the contract's statuses.
var taskStatuses = map[openintentv1.TaskStatus]string{
	openintentv1.TaskStatus_TASK_STATUS_PENDING:   statusPending,
	openintentv1.TaskStatus_TASK_STATUS_READY:     statusOpen,
	openintentv1.TaskStatus_TASK_STATUS_CLAIMED:   "claimed",
	openintentv1.TaskStatus_TASK_STATUS_RUNNING:   statusProgress,
	openintentv1.TaskStatus_TASK_STATUS_BLOCKED:   statusBlocked,
	openintentv1.TaskStatus_TASK_STATUS_COMPLETED: statusCompleted,
	openintentv1.TaskStatus_TASK_STATUS_FAILED:    statusFailed,
	openintentv1.TaskStatus_TASK_STATUS_CANCELLED: "cancelled",
	openintentv1.TaskStatus_TASK_STATUS_SKIPPED:   "skipped",
}

// taskStatusOf returns the contract's status of a word.
func taskStatusOf(word string) (openintentv1.TaskStatus, error) {
	for status, name := range taskStatuses {
		if name == word {
			return status, nil
		}
	}
	words := make([]string, 0, len(taskStatuses))
	for _, name := range taskStatuses {
		words = append(words, name)
	}
	slices.Sort(words)
	return 0, fault.BadField("status", "must be one of %v.", words)
}

// taskOf returns a task in the protocol's form, with at most room bytes of what agents wrote beside its goal.
func taskOf(t *openintentv1.Task, room int) task { return taskWith(t, nil, room) }

// taskWith does what taskOf does, with these findings in place of those that the task keeps, unless there are none.
func taskWith(t *openintentv1.Task, findings []any, room int) task {
	made := task{
		ID: t.GetId(), TaskID: t.GetId(), AssigneeID: t.AssignedAgent, Goal: t.GetName(), Description: doors.Beginning(t.GetDescription(), room), Status: taskStatuses[t.GetStatus()],
		Priority: t.GetPriority(), Assignee: t.AssignedAgent, Version: t.GetVersion(), Attempt: t.GetAttempt(), Blocked: t.BlockedReason,
		CreatedAt: stamp(t.GetCreatedAt()), Details: make(map[string]any),
	}
	for _, part := range []*structpb.Struct{t.GetInput(), t.GetOutput()} {
		for name, value := range part.AsMap() {
			made.Details[name] = value
		}
	}
	if len(findings) > 0 {
		made.Details[findingsMember] = findings
	}
	if metadata := t.GetMetadata(); len(metadata.GetFields()) > 0 {
		made.Details["metadata"] = metadata.AsMap()
	}
	if written, err := json.Marshal(made.Details); err != nil || len(written) > room+baseRoom {
		made.Details, made.Cut = nil, len(written)
	}
	return made
}
