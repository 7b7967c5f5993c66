package tasks

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// Whatever callers request, and in whatever order, the fields of the tasks must agree with each other.
func TestTasksStayConsistent(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachHouse(t, func(t *testing.T, h *house) {
		ends := make(map[string]int)
		h.OnEnded(func(_ *database.Tx, _ *intents.Head, taskID string) error {
			ends[taskID]++
			return nil
		})
		rapid.Check(t, func(r *rapid.T) {
			h.intent = h.newIntent(t)
			changes := make(map[string]int64) // accepted updates, by task
			var ids []string
			for range rapid.IntRange(1, 20).Draw(r, "steps") {
				if len(ids) == 0 || rapid.IntRange(0, 4).Draw(r, "create") == 0 {
					req := h.creating()
					if len(ids) > 0 {
						req.DependsOn = rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, min(3, len(ids)), rapid.ID[string]).Draw(r, "on")
					}
					req.MaxAttempts = pointer(rapid.Int32Range(1, 2).Draw(r, "attempts"))
					task, err := h.CreateTask(as("worker"), req)
					require.NoError(r, err)
					ids = append(ids, task.GetId())
					continue
				}
				id := rapid.SampledFrom(ids).Draw(r, "task")
				status := rapid.SampledFrom(all).Draw(r, "status")
				_, err := h.set(whoSets(status), t, id, status)
				if err == nil {
					changes[id]++
					continue
				}
				require.Equal(r, fault.Invalid, fault.From(err).Kind, "%v", err)
			}
			h.requireConsistent(r, t, changes, ends)
		})
	})
}

func (h *house) requireConsistent(r *rapid.T, t *testing.T, changes map[string]int64, ends map[string]int) {
	response, err := h.ListTasks(as("worker"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId()})
	require.NoError(r, err)
	statuses := make(map[string]Status)
	for _, task := range response.GetTasks() {
		statuses[task.GetId()] = statusOf(task.GetStatus())
	}
	for _, task := range response.GetTasks() {
		id, status := task.GetId(), statusOf(task.GetStatus())
		waits := false
		for _, needed := range task.GetDependsOn() {
			waits = waits || !statuses[needed].satisfies()
		}
		switch status {
		case StatusPending:
			require.True(r, waits, "a pending task waits for another")
		case StatusSkipped, StatusCancelled:
		default:
			require.False(r, waits, "a task that is not pending waits for none")
		}
		ended := status == StatusCompleted || status == StatusCancelled || status == StatusSkipped ||
			status == StatusFailed && task.GetAttempt() == task.GetMaxAttempts()
		require.Equal(r, ended, task.CompletedAt != nil)
		require.Equal(r, task.GetAttempt() > 0, task.StartedAt != nil)
		require.LessOrEqual(r, task.GetAttempt(), task.GetMaxAttempts())
		want := 0
		if ended {
			want = 1
		}
		require.Equal(r, want, ends[id], "the hooks run once for each end")

		events := h.events(t, id)
		require.Equal(r, "task.created", events[0].GetEventType())
		for i, event := range events[1:] {
			before, after := events[i].GetPayload().GetFields(), event.GetPayload().GetFields()
			require.Equal(r, before["status"], after["previous_status"], "the log has every step")
		}
		require.Equal(r, string(status), events[len(events)-1].GetPayload().GetFields()["status"].GetStringValue())
		released := int64(0)
		if len(task.GetDependsOn()) > 0 && len(events) > 1 && events[1].GetActor() == "system" {
			released = 1
		}
		require.Equal(r, 1+changes[id]+released, task.GetVersion())
	}
	verified, err := h.intents.VerifyEvents(as("creator"), &openintentv1.VerifyEventsRequest{IntentId: h.intent.GetId()})
	require.NoError(r, err)
	require.True(r, verified.GetValid())
}
