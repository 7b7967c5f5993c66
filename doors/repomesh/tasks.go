package repomesh

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// taskCreate makes a task.
var taskCreate = newAction("task.create", "Make a task that somebody can claim.", []string{"goal"},
	[]property{
		text("goal"), text("description"), whole("priority"), text("assignee"), text("acceptance_criteria"), object("scope"), list("deps"),
		object("metadata"), text("repo_id"),
	},
	func(ctx context.Context, s *session, given createArguments) (any, error) {
		made, err := s.create(ctx, given)
		if err != nil {
			return nil, err
		}
		return taskOf(made, max(s.room, wholeMessage)), nil
	}).anyone()

type createArguments struct {
	identity
	repository
	Goal        string         `json:"goal"`
	Description *string        `json:"description"`
	Priority    *int32         `json:"priority"`
	Assignee    *string        `json:"assignee"`
	Criteria    *string        `json:"acceptance_criteria"`
	Scope       map[string]any `json:"scope"`
	Deps        []string       `json:"deps"`
	Metadata    map[string]any `json:"metadata"`
}

func (s *session) create(ctx context.Context, given createArguments) (*openintentv1.Task, error) {
	if err := s.own(given.AgentID); err != nil {
		return nil, err
	}
	input := make(map[string]any)
	if given.Criteria != nil {
		input["acceptance_criteria"] = *given.Criteria
	}
	if given.Scope != nil {
		input["scope"] = given.Scope
	}
	facts, err := structpb.NewStruct(input)
	if err != nil {
		return nil, fault.BadField("scope", "must be an object.")
	}
	metadata, err := structpb.NewStruct(given.Metadata)
	if err != nil {
		return nil, fault.BadField("metadata", "must be an object.")
	}
	return s.caller.Tasks.CreateTask(ctx, &openintentv1.CreateTaskRequest{
		IntentId: s.intent, Name: given.Goal, Description: given.Description, Priority: given.Priority, AssignedAgent: given.Assignee,
		Input: facts, DependsOn: given.Deps, Metadata: metadata,
	})
}

// taskList lists tasks.
var taskList = newAction("task.list", "List tasks, oldest first: open, claimed, in_progress, blocked, completed, ...", nil,
	[]property{text("status"), text("assignee"), text("scope"), text("task_id"), whole("limit"), text("cursor")},
	func(ctx context.Context, s *session, given tasksArguments) (any, error) {
		if value(given.TaskID) != "" {
			one, err := s.taskInMesh(ctx, *given.TaskID)
			if err != nil {
				return nil, err
			}
			shown, err := s.whole(ctx, one)
			return s.listedTasks([]task{shown}, ""), err
		}
		request := &openintentv1.ListTasksRequest{IntentId: s.intent, Limit: new(int32(defaultPage)), Cursor: given.Cursor}
		if given.Limit != nil {
			request.Limit = given.Limit
		}
		if value(given.Status) != "" && *given.Status != statusPending {
			status, err := taskStatusOf(*given.Status)
			if err != nil {
				return nil, err
			}
			request.Status = &status
		}
		page, err := s.caller.Tasks.ListTasks(ctx, request)
		if err != nil {
			return nil, err
		}
		tasks := []task{}
		for _, t := range page.GetTasks() {
			if given.selects(t) {
				tasks = append(tasks, taskOf(t, s.room))
			}
		}
		return s.listedTasks(tasks, page.GetNextCursor()), nil
	}).by().anyone()

type tasksArguments struct {
	repeats
	Status   *string `json:"status"`
	Assignee *string `json:"assignee"`
	// Scope is the component of a task's scope.
	Scope  *string `json:"scope"`
	TaskID *string `json:"task_id"`
	Limit  *int32  `json:"limit"`
	Cursor *string `json:"cursor"`
}

// selects reports whether a task is one of those that the arguments ask for and that the contract's list cannot tell apart.
func (given tasksArguments) selects(t *openintentv1.Task) bool {
	if value(given.Status) == statusPending {
		waiting := []openintentv1.TaskStatus{openintentv1.TaskStatus_TASK_STATUS_PENDING, openintentv1.TaskStatus_TASK_STATUS_READY}
		if !slices.Contains(waiting, t.GetStatus()) {
			return false
		}
	}
	scope := t.GetInput().GetFields()["scope"].GetStructValue().GetFields()
	return (given.Assignee == nil || t.GetAssignedAgent() == *given.Assignee) &&
		(given.Scope == nil || scope["component"].GetStringValue() == *given.Scope)
}

// tasksAnswer is a page of tasks. With an assignee, a scope or the status pending, it may have few of them, or none, and still lead on.
type tasksAnswer struct {
	// Tasks and Items are the same list; a model gets Items alone.
	Tasks *[]task `json:"tasks,omitempty"`
	Items []task  `json:"items"`
	Count int     `json:"count"`
	Next  string  `json:"next,omitempty"`
}

// listedTasks returns the answer with a list.
func (s *session) listedTasks(tasks []task, next string) tasksAnswer {
	answer := tasksAnswer{Items: tasks, Count: len(tasks), Next: next}
	if !s.model {
		answer.Tasks = &answer.Items
	}
	return answer
}

// errNoTask refuses a task of elsewhere as one that there is not.
var errNoTask = fault.New(fault.NotFound, "TASK_NOT_FOUND", "There is no such task in the mesh; check the id.")

// taskInMesh returns a task of the mesh.
func (s *session) taskInMesh(ctx context.Context, id string) (*openintentv1.Task, error) {
	found, err := s.caller.Tasks.GetTask(ctx, &openintentv1.GetTaskRequest{TaskId: id})
	if err == nil && found.GetIntentId() != s.intent {
		return nil, errNoTask
	}
	return found, err
}
