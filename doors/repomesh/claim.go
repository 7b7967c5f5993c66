package repomesh

import (
	"cmp"
	"context"
	"slices"

	"openintent/doors"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
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

type claimAnswer struct {
	Task task `json:"task"`
	Lock lock `json:"lock"`
}

// claim takes a task on. A repeat by the agent that has it renews the lock.
func (s *session) claim(ctx context.Context, t *openintentv1.Task, given claimArguments) (any, error) {
	held, err := s.lock(ctx, cmp.Or(value(given.Resource), "task:"+t.GetId()), ttlOf(given.TTL))
	if err != nil {
		return nil, err
	}
	if !s.has(t) {
		taken, err := s.caller.Tasks.ClaimTask(ctx, &openintentv1.ClaimTaskRequest{TaskId: t.GetId()})
		if err != nil {
			_, _ = s.caller.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: s.intent, LeaseId: held.LockID})
			return nil, err
		}
		t = taken
	}
	return claimAnswer{taskOf(t, max(s.room, wholeMessage)), held}, nil
}

// has tells whether the caller works on a task.
func (s *session) has(t *openintentv1.Task) bool {
	works := []openintentv1.TaskStatus{
		openintentv1.TaskStatus_TASK_STATUS_CLAIMED, openintentv1.TaskStatus_TASK_STATUS_RUNNING, openintentv1.TaskStatus_TASK_STATUS_BLOCKED,
	}
	return t.GetAssignedAgent() == s.caller.Agent && slices.Contains(works, t.GetStatus())
}

const (
	// candidates is how many open tasks the door chooses among, and claimTries how many it tries, because others claim as well.
	candidates = 200
	claimTries = 5
)

// errNothingOpen says that there is no task to claim.
var errNothingOpen = fault.New(fault.NotFound, "NO_OPEN_TASK", "No task is open that you could claim; look again later, or make one with task.create.")

// claimAny takes on the open task of the highest priority, the oldest among equals.
func (s *session) claimAny(ctx context.Context, given claimArguments) (any, error) {
	page, err := s.caller.Tasks.ListTasks(ctx, &openintentv1.ListTasksRequest{
		IntentId: s.intent, Status: openintentv1.TaskStatus_TASK_STATUS_READY.Enum(), Limit: new(int32(candidates)),
	})
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(page.GetTasks(), func(t *openintentv1.Task) bool {
		return t.AssignedAgent != nil && t.GetAssignedAgent() != s.caller.Agent
	})
	slices.SortStableFunc(open, func(a, b *openintentv1.Task) int { return cmp.Compare(b.GetPriority(), a.GetPriority()) })
	err = errNothingOpen
	for _, t := range open[:min(len(open), claimTries)] {
		var answer any
		if answer, err = s.claim(ctx, t, given); err == nil {
			return answer, nil
		}
		if codeOf("task.claim", doors.RefusalOf(err)) != codeClaim {
			return nil, err
		}
	}
	return nil, err
}
