package tasks

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// UpdateTask changes a task's status and the values that belong to it, if the task still has the version that the request
// names.
func (s *Service) UpdateTask(ctx context.Context, req *openintentv1.UpdateTaskRequest) (*openintentv1.Task, error) {
	if req.ExpectedVersion == nil {
		return nil, errVersionRequired
	}
	given, err := readUpdate(req)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetTaskId(), "", func(c *change) error {
		if err := c.mayChange(); err != nil {
			return err
		}
		if given.disposes(c.actor) {
			if err := c.mayDispose(); err != nil {
				return err
			}
		}
		if req.GetExpectedVersion() != c.task.Version {
			return versionMismatch(c.task.Version)
		}
		// A pending task becomes ready in the transaction that ends the last task it waits for, never by request.
		if given.status == StatusReady && c.task.Status == StatusPending {
			return errUnmet
		}
		return c.apply(given)
	})
}

// ClaimTask takes a ready task on, for the caller or, when the operator calls, for the agent that it names. If the task was
// assigned to an agent beforehand, only that agent may claim it.
func (s *Service) ClaimTask(ctx context.Context, req *openintentv1.ClaimTaskRequest) (*openintentv1.Task, error) {
	return s.change(ctx, req.GetTaskId(), req.GetAgentId(), func(c *change) error {
		switch {
		case c.task.Status != StatusReady:
			return errNotReady
		case c.task.AssignedAgent != "" && c.task.AssignedAgent != c.actor:
			return errNotAssigned
		}
		return c.apply(update{status: StatusClaimed, assignedAgent: c.actor})
	})
}

// CompleteTask completes a claimed or running task.
func (s *Service) CompleteTask(
	ctx context.Context, req *openintentv1.CompleteTaskRequest,
) (*openintentv1.Task, error) {
	output, err := objectText(req.GetOutput(), "output")
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetTaskId(), "", func(c *change) error {
		if err := c.mayChange(); err != nil {
			return err
		}
		return c.apply(update{status: StatusCompleted, output: output})
	})
}

// FailTask ends an attempt as failed; the task has ended if this was its last attempt.
func (s *Service) FailTask(ctx context.Context, req *openintentv1.FailTaskRequest) (*openintentv1.Task, error) {
	reason, err := errorText(req.GetError())
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetTaskId(), "", func(c *change) error {
		if err := c.mayChange(); err != nil {
			return err
		}
		return c.apply(update{status: StatusFailed, err: reason})
	})
}

// change runs one change of a task in a transaction. It locks the intent's head, reads the task, lets decide refuse or apply
// the change, and stores the next version. The change is for the given agent, or for the caller if agent is empty.
func (s *Service) change(
	ctx context.Context, taskID, agent string, decide func(*change) error,
) (*openintentv1.Task, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	actor, err := c.ActAs("agent_id", agent)
	if err != nil {
		return nil, err
	}
	if actor != c.Agent {
		if err := checkAgent("agent_id", actor); err != nil {
			return nil, err
		}
	}
	var task *Task
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		intentNo, err := locate(tx, taskID)
		if err != nil {
			return err
		}
		change, err := s.begin(tx, c, actor, intentNo)
		if err != nil {
			return err
		}
		if task, err = load(tx, intentNo, change.head.IntentID, taskID); err != nil {
			return err
		}
		change.task = task
		if err := decide(change); err != nil {
			return err
		}
		return change.store()
	})
	return reply(task, err)
}

// update is what a request changes. A zero value leaves the task's value as it is.
type update struct {
	status        Status
	assignedAgent string
	output        jsonvalue.Object
	artifacts     []byte
	err           []byte
	blockedReason string
}

func readUpdate(req *openintentv1.UpdateTaskRequest) (u update, err error) {
	u = update{
		status:        statusOf(req.GetStatus()),
		assignedAgent: req.GetAssignedAgent(),
		blockedReason: req.GetBlockedReason(),
	}
	if err := checkAgent("assigned_agent", u.assignedAgent); err != nil {
		return u, err
	}
	if err := caller.CheckText("blocked_reason", u.blockedReason); err != nil {
		return u, err
	}
	if u.output, err = objectText(req.GetOutput(), "output"); err != nil {
		return u, err
	}
	if u.err, err = errorText(req.GetError()); err != nil {
		return u, err
	}
	if len(req.GetArtifacts()) > 0 {
		list := structpb.NewListValue(&structpb.ListValue{Values: req.GetArtifacts()})
		if u.artifacts, err = valueText(list, "artifacts"); err != nil {
			return u, err
		}
	}
	if u.empty() {
		return u, errNothingGiven
	}
	return u, nil
}

func (u update) empty() bool {
	return u.status == "" && u.assignedAgent == "" && u.blockedReason == "" &&
		u.output.IsNull() && u.artifacts == nil && u.err == nil
}

// disposes reports whether the update cancels or skips the task, or gives it to an agent other than the actor.
func (u update) disposes(actor string) bool {
	return u.status == StatusCancelled || u.status == StatusSkipped || u.assignedAgent != "" && u.assignedAgent != actor
}

// apply makes the requested transition if it is legal, sets the other given values, and logs the transition with the changed
// task. It does not store the task.
func (c *change) apply(u update) error {
	t := c.task
	if u.status == "" {
		if t.Ended() {
			return errEnded
		}
		u.fill(t)
		return nil
	}
	if err := t.mayBecome(u.status); err != nil {
		return err
	}
	previous := t.Status
	position, at := c.head.Next()
	t.become(u.status, at)
	u.fill(t)
	if t.AssignedAgent == "" && (t.Status == StatusClaimed || t.Status == StatusRunning) {
		t.AssignedAgent = c.actor
	}
	return c.logAt(position, at, eventOf(previous, t.Status), previous)
}

// fill makes the task's next version with the given values.
func (u update) fill(t *Task) {
	t.Version++
	if u.assignedAgent != "" {
		t.AssignedAgent = u.assignedAgent
	}
	if u.blockedReason != "" {
		t.BlockedReason = u.blockedReason
	}
	if !u.output.IsNull() {
		t.Output = u.output
	}
	if u.artifacts != nil {
		t.Artifacts = u.artifacts
	}
	if u.err != nil {
		t.Error = u.err
	}
}
