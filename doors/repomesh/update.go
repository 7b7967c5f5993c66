package repomesh

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// taskUpdate says how a task goes on.
var taskUpdate = newAction("task.update", "Say how your task goes: status in_progress, blocked, completed, failed or open again; progress in percent.",
	[]string{"task_id"},
	[]property{text("task_id"), text("status"), whole("progress"), text("summary"), text("notes"), text("blocked_reason")},
	func(ctx context.Context, s *session, given updateArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		if given.Progress != nil && (*given.Progress < 0 || *given.Progress > 100) {
			return nil, fault.BadField("progress", "must be 0 to 100.")
		}
		var status openintentv1.TaskStatus
		if value(given.Status) != "" {
			var err error
			if status, err = taskStatusOf(*given.Status); err != nil {
				return nil, err
			}
		}
		updated, err := s.change(ctx, given.TaskID, func(*openintentv1.Task) change {
			return change{status: status, blocked: given.Blocked, add: given.facts()}
		})
		if err != nil {
			return nil, err
		}
		return taskOf(updated, max(s.room, wholeMessage)), nil
	}).anyone()

type updateArguments struct {
	identity
	TaskID   string  `json:"task_id"`
	Status   *string `json:"status"`
	Progress *int    `json:"progress"`
	Summary  *string `json:"summary"`
	Notes    *string `json:"notes"`
	Blocked  *string `json:"blocked_reason"`
}

// facts are what the caller says beside the status.
func (given updateArguments) facts() map[string]any {
	facts := make(map[string]any)
	if given.Progress != nil {
		facts["progress"] = *given.Progress
	}
	for name, text := range map[string]*string{"summary": given.Summary, "notes": given.Notes} {
		if text != nil {
			facts[name] = *text
		}
	}
	return facts
}

// change is what shall become of a task.
type change struct {
	// status is the new one; 0 leaves it.
	status openintentv1.TaskStatus
	// blocked is why it is stuck.
	blocked *string
	// add are members that its output gets, beside those that it has.
	add map[string]any
	// nothing says that there is nothing left to do.
	nothing bool
}

// changeTries is how often a change begins anew because somebody else changed the task meanwhile.
const changeTries = 5

// change changes a task of the mesh by what it is now. It takes the steps that lie between the task's status and the new one: nobody
// can end what nobody has begun.
func (s *session) change(ctx context.Context, id string, decide func(*openintentv1.Task) change) (*openintentv1.Task, error) {
	for try := 1; ; try++ {
		t, err := s.taskInMesh(ctx, id)
		if err != nil {
			return nil, err
		}
		c := decide(t)
		if c.nothing {
			return t, nil
		}
		t, err = s.carryOut(ctx, t, c)
		if err == nil || try == changeTries || doors.RefusalOf(err).Reason != "VERSION_MISMATCH" {
			return t, err
		}
	}
}

// carryOut takes the steps of a change.
func (s *session) carryOut(ctx context.Context, t *openintentv1.Task, c change) (_ *openintentv1.Task, err error) {
	for _, step := range steps(t.GetStatus(), c.status) {
		if t, err = s.step(ctx, t, &openintentv1.UpdateTaskRequest{Status: &step}); err != nil {
			return nil, err
		}
	}
	request := &openintentv1.UpdateTaskRequest{BlockedReason: c.blocked}
	if c.status != 0 && c.status != t.GetStatus() {
		request.Status = &c.status
	}
	if len(c.add) > 0 {
		output := t.GetOutput().AsMap()
		for name, value := range c.add {
			output[name] = value
		}
		if request.Output, err = structpb.NewStruct(output); err != nil {
			return nil, fault.BadField("payload", "must be an object.")
		}
	}
	if request.Status == nil && request.Output == nil && request.BlockedReason == nil {
		return t, nil
	}
	return s.step(ctx, t, request)
}

// step makes one change of the version that a task has.
func (s *session) step(ctx context.Context, t *openintentv1.Task, request *openintentv1.UpdateTaskRequest) (*openintentv1.Task, error) {
	request.TaskId, request.ExpectedVersion = t.GetId(), new(t.GetVersion())
	return s.caller.Tasks.UpdateTask(ctx, request)
}

// steps returns the statuses through which a task goes from one to another, without the last.
func steps(from, to openintentv1.TaskStatus) []openintentv1.TaskStatus {
	const (
		ready, claimed = openintentv1.TaskStatus_TASK_STATUS_READY, openintentv1.TaskStatus_TASK_STATUS_CLAIMED
		running        = openintentv1.TaskStatus_TASK_STATUS_RUNNING
		blocked        = openintentv1.TaskStatus_TASK_STATUS_BLOCKED
		completed      = openintentv1.TaskStatus_TASK_STATUS_COMPLETED
		failed         = openintentv1.TaskStatus_TASK_STATUS_FAILED
	)
	idle := slices.Contains([]openintentv1.TaskStatus{ready, claimed, blocked}, from)
	switch {
	case from == to:
	case to == completed && (from == ready || from == blocked), to == failed && idle, to == blocked && (from == ready || from == claimed):
		return []openintentv1.TaskStatus{running}
	case to == ready && from == running:
		return []openintentv1.TaskStatus{failed}
	case to == ready && (from == claimed || from == blocked):
		return []openintentv1.TaskStatus{running, failed}
	}
	return nil
}
