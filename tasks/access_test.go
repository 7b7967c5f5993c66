package tasks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

const (
	mayRead  = openintentv1.Permission_PERMISSION_READ
	mayWrite = openintentv1.Permission_PERMISSION_WRITE
	mayAdmin = openintentv1.Permission_PERMISSION_ADMIN
)

func TestReadingAndWritingNeedTheirLevels(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.create(t)
		h.restrict(t, map[string]openintentv1.Permission{"reader": mayRead, "writer": mayWrite})
		can := map[string][2]bool{"stranger": {false, false}, "reader": {true, false}, "writer": {true, true}, "creator": {true, true}}
		for agent, want := range can {
			_, err := h.GetTask(as(agent), &openintentv1.GetTaskRequest{TaskId: task.GetId()})
			h.requireAllowed(t, want[0], err)
			_, err = h.ListTasks(as(agent), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
			h.requireAllowed(t, want[0], err)
			_, err = h.CreateTask(as(agent), h.creating())
			h.requireAllowed(t, want[1], err)
			_, err = h.set(as(agent), t, h.newTask(t), StatusRunning)
			h.requireAllowed(t, want[1], err)
			_, err = h.ClaimTask(as(agent), &openintentv1.ClaimTaskRequest{TaskId: h.newTask(t)})
			h.requireAllowed(t, want[1], err)
		}
	})
}

func (h *house) newTask(t *testing.T) string {
	t.Helper()
	task, err := h.CreateTask(as("creator"), h.creating())
	require.NoError(t, err)
	return task.GetId()
}

func (h *house) requireAllowed(t *testing.T, allowed bool, err error) {
	t.Helper()
	if allowed {
		require.NoError(t, err)
		return
	}
	faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
}

func TestAnAssignedTaskIsItsAgentsToChange(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.restrict(t, map[string]openintentv1.Permission{
			"worker": mayWrite, "writer": mayWrite, "boss": mayAdmin, "reader": mayRead,
		})
		id := h.put(t, StatusRunning, 3).GetId()
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := h.set(ctx, t, id, StatusBlocked); return err },
			func(ctx context.Context) error {
				_, err := h.CompleteTask(ctx, &openintentv1.CompleteTaskRequest{TaskId: id})
				return err
			},
			func(ctx context.Context) error {
				_, err := h.FailTask(ctx, &openintentv1.FailTaskRequest{TaskId: id})
				return err
			},
		} {
			faulttest.Require(t, call(as("writer")), fault.Denied, "TASK_NOT_ASSIGNED")
			faulttest.Require(t, call(as("reader")), fault.Denied, "FORBIDDEN")
		}
		require.Equal(t, StatusRunning, h.status(t, id))
		for _, ctx := range []context.Context{as("worker"), as("boss"), as("creator"), asOperator()} {
			id := h.put(t, StatusRunning, 3).GetId()
			_, err := h.CompleteTask(ctx, &openintentv1.CompleteTaskRequest{TaskId: id})
			require.NoError(t, err)
			require.Equal(t, "worker", h.get(t, id).GetAssignedAgent(), "an agent that helps does not take the task over")
		}

		_, err := h.set(as("worker"), t, id, StatusFailed)
		require.NoError(t, err)
		h.restrict(t, map[string]openintentv1.Permission{"worker": mayRead, "writer": mayWrite})
		_, err = h.set(as("worker"), t, id, StatusReady)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

func TestClaims(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		claim := func(ctx context.Context, id, agent string) (*openintentv1.Task, error) {
			req := &openintentv1.ClaimTaskRequest{TaskId: id}
			if agent != "" {
				req.AgentId = &agent
			}
			return h.ClaimTask(ctx, req)
		}
		claimed, err := claim(as("worker"), h.newTask(t), "worker")
		require.NoError(t, err)
		require.Equal(t, "worker", claimed.GetAssignedAgent())
		require.Equal(t, StatusClaimed, statusOf(claimed.GetStatus()))

		_, err = claim(as("worker"), claimed.GetId(), "")
		faulttest.Require(t, err, fault.Conflict, "TASK_NOT_READY")
		_, err = claim(as("worker"), h.newTask(t), "other")
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")

		named, err := claim(asOperator(), h.newTask(t), "other")
		require.NoError(t, err)
		require.Equal(t, "other", named.GetAssignedAgent())
		events := h.events(t, named.GetId())
		require.Equal(t, "other", events[len(events)-1].GetActor())
		_, err = claim(asOperator(), h.newTask(t), "role:x")
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		own, err := claim(asOperator(), h.newTask(t), "")
		require.NoError(t, err)
		require.Equal(t, caller.Operator, own.GetAssignedAgent())

		req := h.creating()
		req.AssignedAgent = pointer("worker")
		reserved, err := h.CreateTask(as("creator"), req)
		require.NoError(t, err)
		_, err = claim(as("creator"), reserved.GetId(), "")
		faulttest.Require(t, err, fault.Denied, "TASK_NOT_ASSIGNED")
		_, err = claim(as("worker"), reserved.GetId(), "")
		require.NoError(t, err)

		h.restrict(t, map[string]openintentv1.Permission{"worker": mayWrite, "reader": mayRead})
		_, err = claim(asOperator(), h.newTask(t), "reader")
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

func TestAssignmentByUpdate(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		id := h.newTask(t)
		assign := func(ctx context.Context, status Status, agent string) error {
			req := &openintentv1.UpdateTaskRequest{
				TaskId: id, ExpectedVersion: pointer(h.get(t, id).GetVersion()), AssignedAgent: &agent,
			}
			if status != "" {
				req.Status = pointer(statusMessages[status])
			}
			_, err := h.UpdateTask(ctx, req)
			return err
		}
		require.NoError(t, assign(as("creator"), StatusClaimed, "worker"), "existing clients claim for others by PATCH")
		require.Equal(t, "worker", h.get(t, id).GetAssignedAgent())
		require.NoError(t, assign(as("worker"), "", "helper"))
		require.Equal(t, "helper", h.get(t, id).GetAssignedAgent())
		faulttest.Require(t, assign(as("helper"), "", "system"), fault.Invalid, "INVALID_FIELD")

		started := h.newTask(t)
		task, err := h.set(as("worker"), t, started, StatusRunning)
		require.NoError(t, err)
		require.Equal(t, "worker", task.GetAssignedAgent(), "the agent that starts a free task has it")
	})
}

// Any agent may take on a free task of an open intent, but not dispose of it, because nobody gave the agent any access.
func TestAFreeTaskIsNotAStrangersToDisposeOf(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		waiting, err := h.CreateTask(as("creator"), h.creating(h.newTask(t)))
		require.NoError(t, err)
		for _, id := range []string{h.newTask(t), waiting.GetId()} {
			before := h.get(t, id)
			for _, status := range []Status{StatusCancelled, StatusSkipped} {
				_, err := h.set(as("stranger"), t, id, status)
				faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
			}
			_, err = h.UpdateTask(as("stranger"), &openintentv1.UpdateTaskRequest{
				TaskId: id, ExpectedVersion: pointer(before.GetVersion()), AssignedAgent: pointer("nobody"),
			})
			faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
			require.Equal(t, before.String(), h.get(t, id).String())
		}
		taken, err := h.UpdateTask(as("stranger"), &openintentv1.UpdateTaskRequest{
			TaskId: h.newTask(t), ExpectedVersion: pointer(int64(1)), AssignedAgent: pointer("stranger"),
		})
		require.NoError(t, err, "it takes the task on")
		require.Equal(t, "stranger", taken.GetAssignedAgent())
		own := h.newTask(t)
		_, err = h.set(as("stranger"), t, own, StatusRunning)
		require.NoError(t, err)
		_, err = h.set(as("another"), t, own, StatusCancelled)
		faulttest.Require(t, err, fault.Denied, "TASK_NOT_ASSIGNED")
		_, err = h.set(as("stranger"), t, own, StatusCancelled)
		require.NoError(t, err, "it has the task")

		h.restrict(t, map[string]openintentv1.Permission{"writer": mayWrite})
		_, err = h.set(as("writer"), t, h.newTask(t), StatusCancelled)
		require.NoError(t, err)
	})
}
