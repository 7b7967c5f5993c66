package tasks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// house is a service on a fresh database with a clock that the test moves, and one intent.
type house struct {
	*Service
	clock  *databasetest.Clock
	intent *openintentv1.Intent
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := databasetest.NewClock()
		db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now})
		h := &house{Service: New(Config{DB: db, Intents: intents.New(intents.Config{DB: db})}), clock: clock}
		h.intent = h.newIntent(t)
		run(t, h)
	})
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", TraceID: traceID})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

const traceID = "0123456789abcdef0123456789abcdef"

// newIntent makes an intent that the agent creator owns. It is open to everybody as long as nobody restricts it.
func (h *house) newIntent(t *testing.T) *openintentv1.Intent {
	t.Helper()
	intent, err := h.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: pointer(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent
}

// restrict gives the intent an access control list that allows nothing to agents without an entry.
func (h *house) restrict(t *testing.T, entries map[string]openintentv1.Permission) {
	t.Helper()
	req := &openintentv1.SetAccessControlRequest{
		IntentId: h.intent.GetId(), DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
	}
	for agent, permission := range entries {
		req.Entries = append(req.Entries, &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: permission})
	}
	_, err := h.intents.SetAccessControl(as("creator"), req)
	require.NoError(t, err)
}

func (h *house) endIntent(t *testing.T) {
	t.Helper()
	_, err := h.intents.SetIntentStatus(as("creator"), &openintentv1.SetIntentStatusRequest{
		IntentId:        h.intent.GetId(),
		Status:          openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		ExpectedVersion: pointer(h.intent.GetVersion()),
	})
	require.NoError(t, err)
}

func (h *house) creating(dependsOn ...string) *openintentv1.CreateTaskRequest {
	return &openintentv1.CreateTaskRequest{IntentId: h.intent.GetId(), Name: "N", DependsOn: dependsOn}
}

func (h *house) create(t *testing.T, dependsOn ...string) *openintentv1.Task {
	t.Helper()
	task, err := h.CreateTask(as("worker"), h.creating(dependsOn...))
	require.NoError(t, err)
	return task
}

func (h *house) get(t *testing.T, id string) *openintentv1.Task {
	t.Helper()
	task, err := h.GetTask(asOperator(), &openintentv1.GetTaskRequest{TaskId: id})
	require.NoError(t, err)
	return task
}

func (h *house) status(t *testing.T, id string) Status {
	t.Helper()
	return statusOf(h.get(t, id).GetStatus())
}

// set requests a status, based on the task's present version.
func (h *house) set(ctx context.Context, t *testing.T, id string, status Status) (*openintentv1.Task, error) {
	t.Helper()
	return h.UpdateTask(ctx, &openintentv1.UpdateTaskRequest{
		TaskId: id, ExpectedVersion: pointer(h.get(t, id).GetVersion()), Status: pointer(statusMessages[status]),
	})
}

// walk takes a task through statuses.
func (h *house) walk(t *testing.T, id string, statuses ...Status) {
	t.Helper()
	for _, status := range statuses {
		_, err := h.set(whoSets(status), t, id, status)
		require.NoError(t, err)
	}
}

// whoSets returns the context of the agent that brings a task into a status: worker, which may write because the intent is
// open, or the intent's creator where that does not suffice.
func whoSets(status Status) context.Context {
	if status == StatusCancelled || status == StatusSkipped {
		return as("creator")
	}
	return as("worker")
}

// put makes a task in a status by legal steps, with the given number of attempts.
func (h *house) put(t *testing.T, status Status, maxAttempts int32) *openintentv1.Task {
	t.Helper()
	paths := map[Status][]Status{
		StatusReady:     nil,
		StatusClaimed:   {StatusClaimed},
		StatusRunning:   {StatusRunning},
		StatusBlocked:   {StatusRunning, StatusBlocked},
		StatusCompleted: {StatusRunning, StatusCompleted},
		StatusFailed:    {StatusRunning, StatusFailed},
		StatusCancelled: {StatusCancelled},
	}
	req := h.creating()
	req.MaxAttempts = &maxAttempts
	if status == StatusPending || status == StatusSkipped {
		req.DependsOn = []string{h.create(t).GetId()}
		paths[StatusSkipped] = []Status{StatusSkipped}
	}
	task, err := h.CreateTask(as("worker"), req)
	require.NoError(t, err)
	h.walk(t, task.GetId(), paths[status]...)
	task = h.get(t, task.GetId())
	require.Equal(t, status, statusOf(task.GetStatus()))
	return task
}

// events returns the log's events about a task, oldest first.
func (h *house) events(t *testing.T, taskID string) []*openintentv1.Event {
	t.Helper()
	response, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
		IntentId: h.intent.GetId(), AfterSequence: pointer(int64(0)), Limit: pointer(int32(1000)),
	})
	require.NoError(t, err)
	var found []*openintentv1.Event
	for _, event := range response.GetEvents() {
		if event.GetPayload().GetFields()["task_id"].GetStringValue() == taskID {
			found = append(found, event)
		}
	}
	return found
}

func (h *house) eventTypes(t *testing.T, taskID string) []string {
	t.Helper()
	var types []string
	for _, event := range h.events(t, taskID) {
		types = append(types, event.GetEventType())
	}
	return types
}

func pointer[T any](value T) *T { return &value }

func object(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	made, err := structpb.NewStruct(fields)
	require.NoError(t, err)
	return made
}
