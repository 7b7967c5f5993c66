package tasks

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestATaskComesBackAsItWasSent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		parent := h.create(t)
		first, second := h.create(t), h.create(t)
		req := &openintentv1.CreateTaskRequest{
			IntentId:             h.intent.GetId(),
			Name:                 "Fetch",
			Description:          pointer("Get <it> & go"),
			PlanId:               pointer("plan-1"),
			Priority:             pointer(int32(-3)),
			Input:                object(t, map[string]any{"quarter": "Q1", "n": 1.5}),
			AssignedAgent:        pointer("worker"),
			CapabilitiesRequired: []string{"pdf", "mail"},
			DependsOn:            []string{second.GetId(), first.GetId()},
			ParentTaskId:         pointer(parent.GetId()),
			RetryPolicy:          object(t, map[string]any{"backoff": "exponential"}),
			TimeoutSeconds:       pointer(int32(300)),
			MaxAttempts:          pointer(int32(7)),
			Permissions:          structpb.NewStringValue("inherit"),
			Metadata:             object(t, map[string]any{"k": nil}),
		}
		task, err := h.CreateTask(as("creator"), req)
		require.NoError(t, err)
		require.True(t, proto.Equal(task, h.get(t, task.GetId())))
		require.True(t, strings.HasPrefix(task.GetId(), "task_"))
		require.True(t, proto.Equal(&openintentv1.Task{
			Id:                   task.GetId(),
			IntentId:             req.GetIntentId(),
			PlanId:               req.PlanId,
			Name:                 req.GetName(),
			Description:          req.GetDescription(),
			Status:               openintentv1.TaskStatus_TASK_STATUS_PENDING,
			State:                openintentv1.TaskStatus_TASK_STATUS_PENDING,
			Version:              1,
			Priority:             -3,
			Input:                req.GetInput(),
			AssignedAgent:        req.AssignedAgent,
			CapabilitiesRequired: req.GetCapabilitiesRequired(),
			DependsOn:            req.GetDependsOn(),
			ParentTaskId:         req.ParentTaskId,
			RetryPolicy:          req.GetRetryPolicy(),
			TimeoutSeconds:       req.TimeoutSeconds,
			MaxAttempts:          7,
			Permissions:          req.GetPermissions(),
			Metadata:             req.GetMetadata(),
			CreatedAt:            task.GetCreatedAt(),
		}, task), "%v", task)
		require.Equal(t, []string{task.GetId()}, h.get(t, first.GetId()).GetBlocks())
		require.Equal(t, []string{task.GetId()}, h.get(t, second.GetId()).GetBlocks())
		require.Empty(t, h.get(t, parent.GetId()).GetBlocks())
	})
}

func TestATaskWithoutDependenciesIsReady(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.create(t)
		require.Equal(t, openintentv1.TaskStatus_TASK_STATUS_READY, task.GetStatus())
		require.EqualValues(t, 1, task.GetVersion())
		require.EqualValues(t, 3, task.GetMaxAttempts())
		require.Zero(t, task.GetAttempt())
		require.NotNil(t, task.GetInput())
		require.NotNil(t, task.GetMetadata())
		require.Nil(t, task.GetOutput())
		require.Nil(t, task.GetError())
		require.Nil(t, task.StartedAt)
		require.Nil(t, task.CompletedAt)

		events := h.events(t, task.GetId())
		require.Equal(t, []string{"task.created", "task.ready"}, h.eventTypes(t, task.GetId()))
		require.Equal(t, task.GetCreatedAt().AsTime(), events[0].GetCreatedAt().AsTime())
		for _, event := range events {
			require.Equal(t, "worker", event.GetActor())
			require.Equal(t, traceID, event.GetTraceId())
		}
		require.Equal(t, map[string]any{
			"task_id": task.GetId(), "name": "N", "status": "ready", "previous_status": "pending",
			"version": 1.0, "attempt": 0.0, "max_attempts": 3.0,
		}, events[1].GetPayload().AsMap())
	})
}

func TestCreationRefusals(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		elsewhere := h.intent
		h.intent = h.newIntent(t)
		foreign := h.create(t).GetId()
		h.intent = elsewhere
		with := func(change func(req *openintentv1.CreateTaskRequest)) *openintentv1.CreateTaskRequest {
			req := h.creating()
			change(req)
			return req
		}
		own := h.create(t).GetId()
		unknown := newID()
		cases := []struct {
			name   string
			ctx    context.Context
			req    *openintentv1.CreateTaskRequest
			kind   fault.Kind
			reason string
			field  string
		}{
			{"no caller", context.Background(), h.creating(), fault.Unauthenticated, "UNAUTHENTICATED", ""},
			{
				"unknown intent", as("a"), &openintentv1.CreateTaskRequest{IntentId: "nothing", Name: "N"},
				fault.NotFound, "INTENT_NOT_FOUND", "",
			},
			{"dependency elsewhere", as("a"), h.creating(own, foreign), fault.Invalid, "INVALID_FIELD", "depends_on[1]"},
			{"unknown dependency", as("a"), h.creating(unknown), fault.Invalid, "INVALID_FIELD", "depends_on[0]"},
			{"malformed dependency", as("a"), h.creating("\x00"), fault.Invalid, "INVALID_FIELD", "depends_on[0]"},
			{"dependency twice", as("a"), h.creating(own, own), fault.Invalid, "INVALID_FIELD", "depends_on[1]"},
			{
				"parent elsewhere", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) { req.ParentTaskId = &foreign }),
				fault.Invalid, "INVALID_FIELD", "parent_task_id",
			},
			{
				"reserved agent", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) { req.AssignedAgent = pointer("role:x") }),
				fault.Invalid, "INVALID_FIELD", "assigned_agent",
			},
			{
				"agent that cannot be", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) { req.AssignedAgent = pointer("a/b") }),
				fault.Invalid, "INVALID_FIELD", "assigned_agent",
			},
			{
				"zero character", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) { req.Name = "a\x00" }),
				fault.Invalid, "INVALID_FIELD", "name",
			},
			{
				"zero character deep in the input", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) {
					req.Input = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue("\x00")}}
				}),
				fault.Invalid, "INVALID_FIELD", "input.x",
			},
			{
				"zero character in permissions", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) { req.Permissions = structpb.NewStringValue("\x00") }),
				fault.Invalid, "INVALID_FIELD", "permissions",
			},
			{
				"large input", as("a"),
				with(func(req *openintentv1.CreateTaskRequest) {
					req.Input = object(t, map[string]any{"x": strings.Repeat("x", maxFreeFormBytes)})
				}),
				fault.TooLarge, "TOO_LARGE", "input",
			},
		}
		before, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				_, err := h.CreateTask(c.ctx, c.req)
				faulttest.Require(t, err, c.kind, c.reason)
				if c.field != "" {
					require.Equal(t, c.field, fault.From(err).Fields[0].Path)
				}
			})
		}
		after, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		require.True(t, proto.Equal(before, after))
	})
}

func TestTasksAreListedOldestFirst(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var created []*openintentv1.Task
		for i := range 5 {
			if i == 3 {
				h.clock.Set(h.clock.Now().Add(-time.Hour)) // the clock of another replica may lag behind
			}
			created = append(created, h.create(t))
		}
		response, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		require.Len(t, response.GetTasks(), 5)
		for i, task := range response.GetTasks() {
			require.True(t, proto.Equal(created[i], task))
			if i > 0 {
				require.True(t, created[i-1].GetCreatedAt().AsTime().Before(task.GetCreatedAt().AsTime()))
			}
		}
		h.walk(t, created[1].GetId(), StatusClaimed)
		claimed, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{
			IntentId: h.intent.GetId(), Status: pointer(openintentv1.TaskStatus_TASK_STATUS_CLAIMED),
		})
		require.NoError(t, err)
		require.Len(t, claimed.GetTasks(), 1)
		require.Equal(t, created[1].GetId(), claimed.GetTasks()[0].GetId())

		none, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.newIntent(t).GetId()})
		require.NoError(t, err)
		require.Empty(t, none.GetTasks())
		_, err = h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: "nothing"})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
	})
}

func TestUnknownTasks(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, id := range []string{"", "task_", "task_\x00", "\xff", newID(), ulid.Make().String(), "task_01"} {
			_, err := h.GetTask(as("a"), &openintentv1.GetTaskRequest{TaskId: id})
			faulttest.Require(t, err, fault.NotFound, "TASK_NOT_FOUND")
			_, err = h.ClaimTask(as("a"), &openintentv1.ClaimTaskRequest{TaskId: id})
			faulttest.Require(t, err, fault.NotFound, "TASK_NOT_FOUND")
		}
		_, err := h.GetTask(context.Background(), &openintentv1.GetTaskRequest{TaskId: newID()})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

func TestFind(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		open, over := h.put(t, StatusRunning, 3), h.put(t, StatusCancelled, 3)
		here, err := h.numberOf(h.intent.GetId())
		require.NoError(t, err)
		there, err := h.numberOf(h.newIntent(t).GetId())
		require.NoError(t, err)
		err = h.db.Read(context.Background(), func(tx *database.Tx) error {
			ended, err := h.Find(tx, here, open.GetId())
			require.NoError(t, err)
			require.False(t, ended)
			ended, err = h.Find(tx, here, over.GetId())
			require.NoError(t, err)
			require.True(t, ended)
			for _, id := range []string{"", "\x00", "nothing", newID()} {
				_, err = h.Find(tx, here, id)
				faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			}
			_, err = h.Find(tx, there, open.GetId())
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			require.Equal(t, "task_id", fault.From(err).Fields[0].Path)
			return nil
		})
		require.NoError(t, err)
	})
}

func (h *house) numberOf(intentID string) (no int64, err error) {
	err = h.db.Read(context.Background(), func(tx *database.Tx) (err error) {
		no, err = h.intents.Resolve(tx, intentID)
		return err
	})
	return no, err
}
