package concerns

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// task makes a task of the house's intent that an agent has claimed.
func (h *house) task(t *testing.T, name, agent string) string {
	t.Helper()
	made, err := h.tasks.CreateTask(as("alice"), &openintentv1.CreateTaskRequest{IntentId: h.intent, Name: name})
	require.NoError(t, err)
	_, err = h.tasks.ClaimTask(as(agent), &openintentv1.ClaimTaskRequest{TaskId: made.GetId()})
	require.NoError(t, err)
	return made.GetId()
}

// lose lets agents count as dead.
func (h *house) lose(t *testing.T, agents ...string) {
	t.Helper()
	for _, name := range agents {
		for _, status := range []openintentv1.AgentStatus{openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY, openintentv1.AgentStatus_AGENT_STATUS_DEAD} {
			_, err := h.agents.UpdateAgentStatus(as(name), &openintentv1.UpdateAgentStatusRequest{AgentId: name, Status: status})
			require.NoError(t, err)
		}
	}
}

func TestATaskOfADeadAgent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		h.register(t, "ben", "")
		done := h.task(t, "done", "bob")
		_, err := h.tasks.CompleteTask(as("bob"), &openintentv1.CompleteTaskRequest{TaskId: done})
		require.NoError(t, err)
		task := h.task(t, "sort", "bob")
		h.none(t, as("alice"), isHolderLost)
		h.lose(t, "bob", "ben")
		one := h.only(t, as("alice"), isHolderLost)
		require.Equal(t, []string{h.intent, task, "bob"}, []string{one.GetIntentId(), one.GetTaskId(), one.GetAgentId()})
		require.Equal(t, `The task "sort" waits for bob, which is presumed dead.`, one.GetSummary())
		require.Equal(t, []string{"REASSIGN"}, words(one))
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "alice", ReadOnly: true}), isHolderLost)))
		require.Equal(t, one.String(), h.only(t, asOperator(), isHolderLost).String())
		require.Len(t, h.all(t, asOperator(), &listed{IntentId: &h.intent, AgentId: pointer("bob")}, 100), 1)
		for _, other := range []string{"bob", "carol"} {
			h.none(t, as(other), isHolderLost)
		}
		since := one.GetSince().AsTime()
		h.clock.Advance(time.Hour)
		require.Equal(t, since, h.only(t, as("alice"), isHolderLost).GetSince().AsTime())

		_, err = h.tasks.UpdateTask(as("alice"), &openintentv1.UpdateTaskRequest{
			TaskId: task, AssignedAgent: pointer("carol"), ExpectedVersion: pointer(int64(2)),
		})
		require.NoError(t, err)
		h.none(t, as("alice"), isHolderLost)
		h.none(t, asOperator(), isHolderLost)
	})
}

func TestWhatEndsTheLossOfAHolder(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *house){
		"it comes back": func(t *testing.T, h *house) {
			_, err := h.agents.Heartbeat(as("bob"), &openintentv1.HeartbeatRequest{AgentId: "bob"})
			require.NoError(t, err)
		},
		"the intent ends": func(t *testing.T, h *house) {
			_, err := h.intents.SetIntentStatus(as("alice"), &openintentv1.SetIntentStatusRequest{
				IntentId: h.intent, Status: openintentv1.IntentStatus_INTENT_STATUS_ABANDONED, ExpectedVersion: pointer(int64(1)),
			})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				h.register(t, "bob", "")
				h.task(t, "sort", "bob")
				h.lose(t, "bob")
				h.only(t, as("alice"), isHolderLost)
				end(t, h)
				h.none(t, as("alice"), isHolderLost)
				h.none(t, asOperator(), isHolderLost)
			})
		})
	}
}

// The operator's pages go through many dead agents, and through many tasks of one, without losing one or giving one twice.
func TestManyTasksOfDeadAgents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var lost []string
		wanted := make(map[string]bool)
		for i := range 30 {
			name := fmt.Sprintf("bob-%d", i)
			h.register(t, name, "")
			lost = append(lost, name)
			for n := range i % 3 * (i % 5) {
				wanted[h.task(t, fmt.Sprint(n), name)] = true
			}
		}
		h.lose(t, lost...)
		for _, size := range []int32{1, 3, 100} {
			found := make(map[string]bool)
			last := time.Time{}
			for _, one := range h.all(t, asOperator(), &listed{Kind: isHolderLost}, size) {
				require.False(t, one.GetSince().AsTime().Before(last))
				last = one.GetSince().AsTime()
				require.False(t, found[one.GetId()])
				found[one.GetId()] = true
			}
			require.Len(t, found, len(wanted))
			require.Len(t, h.all(t, as("alice"), &listed{Kind: isHolderLost}, size), len(wanted))
		}
	})
}
