package tasks

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

var all = []Status{
	StatusPending, StatusReady, StatusClaimed, StatusRunning, StatusBlocked,
	StatusCompleted, StatusFailed, StatusCancelled, StatusSkipped,
}

func TestEveryPairOfStatuses(t *testing.T) {
	legal := map[[2]Status]string{
		{StatusPending, StatusSkipped}:   "task.skipped",
		{StatusPending, StatusCancelled}: "task.cancelled",
		{StatusReady, StatusClaimed}:     "task.claimed",
		{StatusReady, StatusRunning}:     "task.started",
		{StatusReady, StatusCancelled}:   "task.cancelled",
		{StatusClaimed, StatusRunning}:   "task.started",
		{StatusClaimed, StatusCompleted}: "task.completed",
		{StatusClaimed, StatusCancelled}: "task.cancelled",
		{StatusRunning, StatusCompleted}: "task.completed",
		{StatusRunning, StatusFailed}:    "task.failed",
		{StatusRunning, StatusBlocked}:   "task.blocked",
		{StatusRunning, StatusCancelled}: "task.cancelled",
		{StatusBlocked, StatusRunning}:   "task.unblocked",
		{StatusBlocked, StatusCancelled}: "task.cancelled",
		{StatusFailed, StatusReady}:      "task.retrying",
		{StatusFailed, StatusCancelled}:  "task.cancelled",
	}
	eachHouse(t, func(t *testing.T, h *house) {
		for _, from := range all {
			for _, to := range all {
				h.intent = h.newIntent(t) // whose log is short
				before := h.put(t, from, 2)
				logged := len(h.events(t, before.GetId()))
				after, err := h.set(whoSets(to), t, before.GetId(), to)
				event, ok := legal[[2]Status{from, to}]
				if !ok {
					reason := "INVALID_TRANSITION"
					if from == StatusPending && to == StatusReady {
						reason = "UNMET_DEPENDENCIES"
					}
					faulttest.Require(t, err, fault.Invalid, reason)
					require.True(t, proto.Equal(before, h.get(t, before.GetId())), "%s to %s", from, to)
					require.Len(t, h.events(t, before.GetId()), logged)
					continue
				}
				require.NoError(t, err, "%s to %s", from, to)
				require.Equal(t, to, statusOf(after.GetStatus()))
				require.Equal(t, after.GetStatus(), after.GetState())
				require.Equal(t, before.GetVersion()+1, after.GetVersion())
				require.True(t, proto.Equal(after, h.get(t, before.GetId())))
				events := h.events(t, before.GetId())
				require.Len(t, events, logged+1)
				last := events[logged]
				require.Equal(t, event, last.GetEventType())
				fields := last.GetPayload().GetFields()
				require.Equal(t, string(from), fields["previous_status"].GetStringValue())
				require.Equal(t, string(to), fields["status"].GetStringValue())
				require.Equal(t, after.GetVersion(), int64(fields["version"].GetNumberValue()))
			}
		}
	})
}

func TestATaskFailedForGoodIsFinal(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.put(t, StatusFailed, 1)
		require.NotNil(t, task.CompletedAt)
		for _, to := range all {
			_, err := h.set(as("worker"), t, task.GetId(), to)
			faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
		}
	})
}

func TestAttemptsAndTimes(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		req := h.creating()
		req.MaxAttempts = pointer(int32(2))
		task, err := h.CreateTask(as("worker"), req)
		require.NoError(t, err)
		id := task.GetId()

		h.walk(t, id, StatusClaimed)
		require.Zero(t, h.get(t, id).GetAttempt(), "an attempt begins with the work")
		began := h.clock.Advance(time.Minute)
		h.walk(t, id, StatusRunning, StatusBlocked, StatusRunning)
		task = h.get(t, id)
		require.EqualValues(t, 1, task.GetAttempt(), "unblocking a task does not begin another attempt")
		require.Equal(t, began, task.GetStartedAt().AsTime())
		require.Nil(t, task.CompletedAt)

		h.clock.Advance(time.Minute)
		h.walk(t, id, StatusFailed)
		require.Nil(t, h.get(t, id).CompletedAt, "there is another attempt")
		h.walk(t, id, StatusReady)
		require.Nil(t, h.get(t, id).AssignedAgent, "any agent may try next")
		h.walk(t, id, StatusRunning)
		task = h.get(t, id)
		require.EqualValues(t, 2, task.GetAttempt())
		require.Equal(t, began, task.GetStartedAt().AsTime(), "it is the time of the first attempt")

		ended := h.clock.Advance(time.Minute)
		failed, err := h.FailTask(as("worker"), &openintentv1.FailTaskRequest{TaskId: id, Error: structpb.NewStringValue("no")})
		require.NoError(t, err)
		require.Equal(t, ended, failed.GetCompletedAt().AsTime())
		require.Equal(t, "no", failed.GetError().GetStringValue())
		events := h.events(t, id)
		require.Equal(t, "no", events[len(events)-1].GetPayload().GetFields()["error"].GetStringValue())

		shortcut := h.put(t, StatusClaimed, 1)
		done, err := h.CompleteTask(as("worker"), &openintentv1.CompleteTaskRequest{TaskId: shortcut.GetId()})
		require.NoError(t, err)
		require.EqualValues(t, 1, done.GetAttempt(), "completing a claimed task counts as an attempt")
		require.NotNil(t, done.StartedAt)
		require.NotNil(t, done.CompletedAt)
	})
}

func TestUpdateNeedsTheVersion(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.create(t)
		update := func(version *int64) error {
			_, err := h.UpdateTask(as("worker"), &openintentv1.UpdateTaskRequest{
				TaskId: task.GetId(), ExpectedVersion: version, Output: object(t, nil),
			})
			return err
		}
		faulttest.Require(t, update(nil), fault.PreconditionRequired, "EXPECTED_VERSION_REQUIRED")
		require.NoError(t, update(pointer(int64(1))))
		err := update(pointer(int64(1)))
		faulttest.Require(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		require.Equal(t, "2", fault.From(err).Metadata["current_version"])
		faulttest.Require(t, update(pointer(int64(3))), fault.VersionMismatch, "VERSION_MISMATCH")

		_, err = h.UpdateTask(as("worker"), &openintentv1.UpdateTaskRequest{
			TaskId: task.GetId(), ExpectedVersion: pointer(int64(2)),
		})
		faulttest.Require(t, err, fault.Invalid, "NOTHING_TO_CHANGE")
	})
}

func TestUpdateChangesWhatIsGiven(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.put(t, StatusRunning, 2)
		logged := len(h.events(t, task.GetId()))
		updated, err := h.UpdateTask(as("worker"), &openintentv1.UpdateTaskRequest{
			TaskId:          task.GetId(),
			ExpectedVersion: pointer(task.GetVersion()),
			Output:          object(t, map[string]any{"half": true}),
			Artifacts:       []*structpb.Value{structpb.NewStringValue("a.csv"), structpb.NewNumberValue(1)},
		})
		require.NoError(t, err)
		require.Len(t, h.events(t, task.GetId()), logged, "this is not a transition")
		require.Equal(t, map[string]any{"half": true}, updated.GetOutput().AsMap())
		require.Len(t, updated.GetArtifacts(), 2)
		require.Equal(t, "a.csv", updated.GetArtifacts()[0].GetStringValue())

		blocked, err := h.UpdateTask(as("worker"), &openintentv1.UpdateTaskRequest{
			TaskId:          task.GetId(),
			ExpectedVersion: pointer(updated.GetVersion()),
			Status:          pointer(openintentv1.TaskStatus_TASK_STATUS_BLOCKED),
			BlockedReason:   pointer("approval"),
		})
		require.NoError(t, err)
		require.Equal(t, "approval", blocked.GetBlockedReason())
		require.Equal(t, map[string]any{"half": true}, blocked.GetOutput().AsMap(), "a value that is not given stays")
		events := h.events(t, task.GetId())
		require.Equal(t, "approval", events[logged].GetPayload().GetFields()["blocked_reason"].GetStringValue())

		h.walk(t, task.GetId(), StatusRunning)
		require.Nil(t, h.get(t, task.GetId()).BlockedReason)

		done, err := h.CompleteTask(as("worker"), &openintentv1.CompleteTaskRequest{
			TaskId: task.GetId(), Output: object(t, map[string]any{"half": false}),
		})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"half": false}, done.GetOutput().AsMap())
		_, err = h.UpdateTask(as("worker"), &openintentv1.UpdateTaskRequest{
			TaskId: task.GetId(), ExpectedVersion: pointer(done.GetVersion()), Output: object(t, nil),
		})
		faulttest.Require(t, err, fault.Conflict, "TASK_ENDED")
	})
}

func TestErrorsAreTextsOrObjects(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		accepted := []*structpb.Value{
			structpb.NewStringValue("timeout"), structpb.NewStructValue(object(t, map[string]any{"code": 7.0})),
		}
		for _, value := range accepted {
			failed, err := h.FailTask(as("worker"), &openintentv1.FailTaskRequest{
				TaskId: h.put(t, StatusRunning, 1).GetId(), Error: value,
			})
			require.NoError(t, err)
			require.True(t, proto.Equal(value, h.get(t, failed.GetId()).GetError()))
		}
		task := h.put(t, StatusRunning, 1)
		refused := []*structpb.Value{
			structpb.NewNumberValue(1), structpb.NewBoolValue(true), structpb.NewListValue(&structpb.ListValue{}),
		}
		for _, value := range refused {
			_, err := h.FailTask(as("worker"), &openintentv1.FailTaskRequest{TaskId: task.GetId(), Error: value})
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		}
		failed, err := h.FailTask(as("worker"), &openintentv1.FailTaskRequest{
			TaskId: task.GetId(), Error: structpb.NewNullValue(),
		})
		require.NoError(t, err)
		require.Nil(t, failed.GetError())
	})
}

func TestDependents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		left, right, other := h.create(t), h.create(t), h.create(t)
		both := h.create(t, left.GetId(), right.GetId())
		one := h.create(t, left.GetId())
		last := h.create(t, both.GetId(), one.GetId())
		stuck := h.create(t, other.GetId())
		require.Equal(t, []string{both.GetId(), one.GetId()}, h.get(t, left.GetId()).GetBlocks())
		require.Equal(t, []string{both.GetId(), one.GetId()}, last.GetDependsOn())

		h.walk(t, left.GetId(), StatusRunning, StatusCompleted)
		require.Equal(t, StatusReady, h.status(t, one.GetId()))
		require.EqualValues(t, 2, h.get(t, one.GetId()).GetVersion())
		require.Equal(t, StatusPending, h.status(t, both.GetId()))
		events := h.events(t, one.GetId())
		require.Equal(t, "task.ready", events[len(events)-1].GetEventType())
		require.Equal(t, "system", events[len(events)-1].GetActor())

		h.walk(t, right.GetId(), StatusRunning, StatusCompleted)
		require.Equal(t, StatusReady, h.status(t, both.GetId()))
		h.walk(t, both.GetId(), StatusClaimed, StatusCompleted)
		require.Equal(t, StatusPending, h.status(t, last.GetId()))
		h.walk(t, one.GetId(), StatusCancelled)
		require.Equal(t, StatusPending, h.status(t, last.GetId()), "a cancelled task does not count as done")
		h.walk(t, other.GetId(), StatusCancelled)
		require.Equal(t, StatusPending, h.status(t, stuck.GetId()))

		afterDone := h.create(t, left.GetId(), right.GetId())
		require.Equal(t, StatusReady, statusOf(afterDone.GetStatus()), "it has nothing to wait for")

		waiting := h.create(t, last.GetId())
		h.walk(t, last.GetId(), StatusSkipped)
		require.Equal(t, StatusReady, h.status(t, waiting.GetId()), "nobody has to wait for a skipped task")
	})
}

// In whatever order the tasks end for which one waits, it waits for those that are not done.
func TestDependentsOfACancelledTaskWait(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		cancelled, done := h.create(t), h.create(t)
		both := h.create(t, cancelled.GetId(), done.GetId())
		given := h.create(t, done.GetId())
		h.walk(t, cancelled.GetId(), StatusCancelled)
		h.walk(t, given.GetId(), StatusCancelled)
		h.walk(t, done.GetId(), StatusRunning, StatusCompleted)
		require.Equal(t, StatusPending, h.status(t, both.GetId()))
		require.Equal(t, StatusCancelled, h.status(t, given.GetId()), "it waits for nothing any more")
		open := h.create(t)
		for _, needed := range [][]string{{open.GetId(), done.GetId()}, {done.GetId(), open.GetId()}, {done.GetId(), cancelled.GetId()}} {
			require.Equal(t, StatusPending, h.status(t, h.create(t, needed...).GetId()))
		}
	})
}

func TestHooksRunWhenATaskEnds(t *testing.T) {
	endings := map[Status][]Status{
		StatusCompleted: {StatusRunning, StatusCompleted},
		StatusFailed:    {StatusRunning, StatusFailed},
		StatusCancelled: {StatusCancelled},
	}
	eachHouse(t, func(t *testing.T, h *house) {
		var ended []string
		h.OnEnded(func(tx *database.Tx, head *intents.Head, taskID string) error {
			require.Equal(t, h.intent.GetId(), head.IntentID)
			found, err := h.Find(tx, head.IntentNo, taskID)
			require.NoError(t, err)
			require.True(t, found, "the hook sees the task's end")
			ended = append(ended, taskID)
			return nil
		})
		var want []string
		for _, path := range endings {
			req := h.creating()
			req.MaxAttempts = pointer(int32(1))
			task, err := h.CreateTask(as("worker"), req)
			require.NoError(t, err)
			h.walk(t, task.GetId(), path...)
			want = append(want, task.GetId())
		}
		pending := h.create(t, h.create(t).GetId())
		h.walk(t, pending.GetId(), StatusSkipped)
		want = append(want, pending.GetId())
		require.Equal(t, want, ended)

		h.put(t, StatusFailed, 2)
		require.Equal(t, want, ended, "while there are attempts left it has not ended")
	})
}

func TestAFailingHookUndoesTheEnd(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		broken := errors.New("broken")
		h.OnEnded(func(*database.Tx, *intents.Head, string) error { return broken })
		task := h.put(t, StatusRunning, 1)
		follower := h.create(t, task.GetId())
		logged := h.eventTypes(t, task.GetId())
		_, err := h.CompleteTask(as("worker"), &openintentv1.CompleteTaskRequest{TaskId: task.GetId()})
		require.ErrorIs(t, err, broken)
		require.Equal(t, StatusRunning, h.status(t, task.GetId()))
		require.Equal(t, StatusPending, h.status(t, follower.GetId()))
		require.Equal(t, logged, h.eventTypes(t, task.GetId()))
	})
}

func TestOfManyClaimsOneWins(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.create(t)
		agents := []string{"a", "b", "c", "d", "e", "f"}
		errs := make([]error, len(agents))
		var running sync.WaitGroup
		for i, agent := range agents {
			running.Go(func() {
				_, errs[i] = h.ClaimTask(as(agent), &openintentv1.ClaimTaskRequest{TaskId: task.GetId()})
			})
		}
		running.Wait()
		winner := slices.IndexFunc(errs, func(err error) bool { return err == nil })
		require.NotEqual(t, -1, winner, "%v", errs)
		for i, err := range errs {
			if i != winner {
				faulttest.Require(t, err, fault.Conflict, "TASK_NOT_READY")
			}
		}
		require.Equal(t, agents[winner], h.get(t, task.GetId()).GetAssignedAgent())
		require.Equal(t, []string{"task.created", "task.ready", "task.claimed"}, h.eventTypes(t, task.GetId()))
	})
}

func TestConcurrentEndsReleaseTheirCommonDependent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var needed []string
		for range 5 {
			needed = append(needed, h.put(t, StatusRunning, 1).GetId())
		}
		follower := h.create(t, needed...)
		var running sync.WaitGroup
		errs := make([]error, len(needed))
		for i, id := range needed {
			running.Go(func() {
				_, errs[i] = h.CompleteTask(as("worker"), &openintentv1.CompleteTaskRequest{TaskId: id})
			})
		}
		running.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.Equal(t, StatusReady, h.status(t, follower.GetId()))
		require.Equal(t, []string{"task.created", "task.ready"}, h.eventTypes(t, follower.GetId()))
	})
}

func TestTheLogVerifiesAfterTasks(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, status := range all {
			h.put(t, status, 2)
		}
		verified, err := h.intents.VerifyEvents(as("creator"), &openintentv1.VerifyEventsRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		require.True(t, verified.GetValid())
	})
}

func TestAfterTheIntentEnded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task := h.put(t, StatusRunning, 1)
		follower := h.create(t, task.GetId())
		h.endIntent(t)
		_, err := h.CreateTask(as("worker"), h.creating())
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
		_, err = h.CompleteTask(as("worker"), &openintentv1.CompleteTaskRequest{TaskId: task.GetId()})
		require.NoError(t, err)
		require.Equal(t, StatusReady, h.status(t, follower.GetId()))
	})
}

func TestNobodyCalls(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		id := h.create(t).GetId()
		nobody := context.Background()
		_, err := h.UpdateTask(nobody, &openintentv1.UpdateTaskRequest{
			TaskId: id, ExpectedVersion: pointer(int64(1)), Output: object(t, nil),
		})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.ClaimTask(nobody, &openintentv1.ClaimTaskRequest{TaskId: id})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.CompleteTask(nobody, &openintentv1.CompleteTaskRequest{TaskId: id})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.FailTask(nobody, &openintentv1.FailTaskRequest{TaskId: id})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.ListTasks(nobody, &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

// What the log says of a failed attempt is said of that attempt alone, although the task keeps the error.
func TestTheLogSaysAnErrorOfTheAttemptThatFailed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		id := h.put(t, StatusRunning, 2).GetId()
		_, err := h.FailTask(as("worker"), &openintentv1.FailTaskRequest{TaskId: id, Error: structpb.NewStringValue("no")})
		require.NoError(t, err)
		h.walk(t, id, StatusReady, StatusRunning, StatusCompleted)
		for _, event := range h.events(t, id) {
			require.Equal(t, event.GetEventType() == "task.failed", event.GetPayload().GetFields()["error"] != nil, event.GetEventType())
		}
	})
}
