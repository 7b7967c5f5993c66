package repomesh

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// atWork is a mesh whose tasks at work belong to these agents, on pages of one.
type atWork struct {
	openintentv1.TaskServiceClient
	agents []string
}

func (w *atWork) ListTasks(_ context.Context, r *openintentv1.ListTasksRequest, _ ...grpc.CallOption) (*openintentv1.ListTasksResponse, error) {
	at, _ := strconv.Atoi(r.GetCursor())
	page := &openintentv1.ListTasksResponse{Tasks: []*openintentv1.Task{w.task(at)}}
	if at+1 < len(w.agents) {
		page.NextCursor = new(strconv.Itoa(at + 1))
	}
	return page, nil
}

func (w *atWork) GetTask(_ context.Context, r *openintentv1.GetTaskRequest, _ ...grpc.CallOption) (*openintentv1.Task, error) {
	at, err := strconv.Atoi(r.GetTaskId())
	return w.task(at), err
}

func (w *atWork) UpdateTask(_ context.Context, r *openintentv1.UpdateTaskRequest, _ ...grpc.CallOption) (*openintentv1.Task, error) {
	return &openintentv1.Task{Id: r.GetTaskId(), IntentId: "mesh", Status: r.GetStatus()}, nil
}

func (w *atWork) task(at int) *openintentv1.Task {
	return &openintentv1.Task{
		Id: strconv.Itoa(at), IntentId: "mesh", AssignedAgent: &w.agents[at], Status: openintentv1.TaskStatus_TASK_STATUS_RUNNING,
	}
}

// A recovery gives back the agent's own tasks of every page, and no other agent's.
func TestAllTasksOfOneAgentAreGivenBack(t *testing.T) {
	s, did := ann(), &recovery{}
	s.intent, s.caller.Tasks = "mesh", &atWork{agents: []string{"ann", "ben", "ben", "ann", "ann"}}
	require.NoError(t, s.giveBack(t.Context(), openintentv1.TaskStatus_TASK_STATUS_RUNNING, did))
	require.Equal(t, []string{"0", "3", "4"}, did.RequeuedTasks)
}
