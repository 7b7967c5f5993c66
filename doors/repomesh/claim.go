package repomesh

import (
	"cmp"
	"context"
	"slices"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// taskClaim takes a task on, together with its lock.
var taskClaim = newAction("task.claim", "Take a task on and lock it for lease_ttl seconds (300). Without task_id: the open one of the highest priority.", nil,
	[]property{text("task_id"), text("resource_key"), whole("lease_ttl"), retryCount},
	func(ctx context.Context, s *session, given claimArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		if value(given.TaskID) != "" {
			t, err := s.taskInMesh(ctx, *given.TaskID)
			if err != nil {
				return nil, err
			}
			return s.claim(ctx, t, given)
		}
		return s.claimAny(ctx, given)
	})

type claimArguments struct {
	identity
	TaskID   *string `json:"task_id"`
	Resource *string `json:"resource_key"`
	TTL      *int32  `json:"lease_ttl"`
}

// claimAnswer is a task that the caller has, in the protocol's form and in the reference's.
type claimAnswer struct {
	Task task `json:"task"`
	// Lock is null if the task's own lock could not be had; Refused says why.
	Lock    *lock           `json:"lock"`
	Refused *refusedPayload `json:"lock_refused,omitempty"`

	ID       string `json:"id"`
	TaskID   string `json:"task_id"`
	AgentID  string `json:"agent_id"`
	Resource string `json:"resource_key"`
	State    string `json:"state"`
	// ExpiresAt is when the lock ends unless it is renewed; null without a lock.
	ExpiresAt *string `json:"expires_at"`
}

// claimed returns the answer for a task and its lock.
func (s *session) claimed(t *openintentv1.Task, resource string, held *lock) claimAnswer {
	answer := claimAnswer{
		Task: taskOf(t, max(s.room, wholeMessage)), Lock: held,
		ID: t.GetId(), TaskID: t.GetId(), AgentID: s.caller.Agent, Resource: resource, State: "active",
	}
	if held != nil {
		answer.ID, answer.ExpiresAt = held.ID, &held.ExpiresAt
	}
	return answer
}

// claim takes a task on. A repeat by the agent that has it renews the lock. A resource that the caller names must be free: that is what it
// asks for. The task's own lock, task:ID or task://ID, is a word that anybody may lease, so it decides nothing: whoever has the task has
// it without the lock, too.
func (s *session) claim(ctx context.Context, t *openintentv1.Task, given claimArguments) (any, error) {
	own := []string{"task:" + t.GetId(), "task://" + t.GetId()}
	resource := cmp.Or(value(given.Resource), own[0])
	if !slices.Contains(own, resource) {
		return s.claimWith(ctx, t, resource, ttlOf(given.TTL))
	}
	t, err := s.take(ctx, t)
	if err != nil {
		return nil, err
	}
	held, _, err := s.lock(ctx, resource, ttlOf(given.TTL))
	if err == nil {
		return s.claimed(t, resource, &held), nil
	}
	answer := s.claimed(t, resource, nil)
	answer.Refused = s.without(ctx, "lock.acquire", err)
	return answer, nil
}

// claimWith takes a task on together with a resource, or neither. A lock that the caller had before stays with it.
func (s *session) claimWith(ctx context.Context, t *openintentv1.Task, resource string, ttl int32) (any, error) {
	held, had, err := s.lock(ctx, resource, ttl)
	if err != nil {
		return nil, err
	}
	if t, err = s.take(ctx, t); err != nil {
		if had {
			return nil, err
		}
		_, _ = s.caller.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: s.intent, LeaseId: held.LockID})
		return nil, err
	}
	return s.claimed(t, resource, &held), nil
}

// take makes the caller the one who has a task, unless it has it already.
func (s *session) take(ctx context.Context, t *openintentv1.Task) (*openintentv1.Task, error) {
	if s.has(t) {
		return t, nil
	}
	return s.caller.Tasks.ClaimTask(ctx, &openintentv1.ClaimTaskRequest{TaskId: t.GetId()})
}

// has reports whether the caller works on a task.
func (s *session) has(t *openintentv1.Task) bool {
	works := []openintentv1.TaskStatus{
		openintentv1.TaskStatus_TASK_STATUS_CLAIMED, openintentv1.TaskStatus_TASK_STATUS_RUNNING, openintentv1.TaskStatus_TASK_STATUS_BLOCKED,
	}
	return t.GetAssignedAgent() == s.caller.Agent && slices.Contains(works, t.GetStatus())
}

const (
	// candidates is how many open tasks of a page the door chooses among, and claimTries how many it tries, because others claim as well.
	candidates = 200
	claimTries = 5
)

// errNothingOpen says that there is no task to claim.
var errNothingOpen = fault.New(fault.NotFound, "NO_OPEN_TASK", "No task is open that you could claim; look again later, or make one with task.create.")

// claimAny takes on the open task of the highest priority, the oldest among equals.
func (s *session) claimAny(ctx context.Context, given claimArguments) (any, error) {
	open, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(open, func(a, b *openintentv1.Task) int { return cmp.Compare(b.GetPriority(), a.GetPriority()) })
	err = errNothingOpen
	for _, t := range open[:min(len(open), claimTries)] {
		var answer any
		if answer, err = s.claim(ctx, t, given); err == nil {
			return answer, nil
		}
		refusal := doors.RefusalOf(err)
		if codeOf("task.claim", refusal) != codeClaim || refusal.Reason == "LEASE_HELD" { // of the resource that the caller names
			return nil, err
		}
	}
	return nil, err
}

// open returns tasks that the caller could claim: of the first page of ready tasks that has any. Tasks that are kept for others can fill
// whole pages.
func (s *session) open(ctx context.Context) ([]*openintentv1.Task, error) {
	request := &openintentv1.ListTasksRequest{
		IntentId: s.intent, Status: openintentv1.TaskStatus_TASK_STATUS_READY.Enum(), Limit: new(int32(candidates)),
	}
	for range taskPages {
		page, err := s.caller.Tasks.ListTasks(ctx, request)
		if err != nil {
			return nil, err
		}
		open := slices.DeleteFunc(page.GetTasks(), func(t *openintentv1.Task) bool {
			return t.AssignedAgent != nil && t.GetAssignedAgent() != s.caller.Agent
		})
		if len(open) > 0 || page.NextCursor == nil {
			return open, nil
		}
		request.Cursor = page.NextCursor
	}
	return nil, nil
}
