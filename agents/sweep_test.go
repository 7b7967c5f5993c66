package agents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestSilenceIsJudgedAtTheExactThreshold(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		h.pass(t, 90*second)
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"), "90 s are not more than 90 s")
		h.clock.Advance(time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusUnhealthy, h.status(t, "a"))

		_, err := h.Heartbeat(as("a"), &openintentv1.HeartbeatRequest{AgentId: "a"})
		require.NoError(t, err)
		require.Equal(t, StatusActive, h.status(t, "a"))

		h.pass(t, 300*second)
		h.sweep(t)
		require.Equal(t, StatusUnhealthy, h.status(t, "a"))
		h.clock.Advance(time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
		require.EqualValues(t, 5, h.get(t, "a").GetVersion())
		h.pass(t, 1000*second)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
	})
}

func TestALongSilenceLeadsThroughUnhealthyToDead(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		h.pass(t, 301*second)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
		require.EqualValues(t, 3, h.get(t, "a").GetVersion())
		require.Equal(t, []string{"a", "a", "a"}, h.changes)
		p, _ := h.presence(t, "a")
		require.Zero(t, p.DepartedAt, "the dead have not departed")
	})
}

func TestDrainingEndsWithItsTimeout(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var departed []string
		h.OnDeparted(func(_ *database.Tx, agentID string, _ time.Time) error {
			departed = append(departed, agentID)
			return nil
		})
		_, err := h.RegisterAgent(as("a"), &openintentv1.RegisterAgentRequest{DrainTimeoutSeconds: pointer(int32(600))})
		require.NoError(t, err)
		h.clock.Advance(10 * second)
		_, err = h.setStatus("a", StatusDraining)
		require.NoError(t, err)
		h.clock.Advance(600*second - time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusDraining, h.status(t, "a"), "silence does not end a drain that has a timeout")
		h.clock.Advance(time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusDeregistered, h.status(t, "a"))
		require.Equal(t, []string{"a"}, departed)
		h.sweep(t)
		require.Len(t, departed, 1)
	})
}

func TestDrainingWithoutATimeoutLastsWhileTheAgentLives(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.put(t, "a", StatusDraining)
		for range 10 {
			h.pass(t, 300*second)
			h.sweep(t)
			_, err := h.Heartbeat(as("a"), &openintentv1.HeartbeatRequest{AgentId: "a"})
			require.NoError(t, err)
		}
		require.Equal(t, StatusDraining, h.status(t, "a"))
		h.pass(t, 300*second+time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
	})
}

func TestASweepGoesPastFailures(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		broken := errors.New("broken")
		h.OnDeparted(func(_ *database.Tx, agentID string, _ time.Time) error {
			if agentID == "a" {
				return broken
			}
			return nil
		})
		h.register(t, "c")
		h.pass(t, 90*second)
		h.sweep(t)
		for _, agent := range []string{"a", "b"} {
			_, err := h.RegisterAgent(as(agent), &openintentv1.RegisterAgentRequest{DrainTimeoutSeconds: pointer(int32(0))})
			require.NoError(t, err)
			_, err = h.setStatus(agent, StatusDraining)
			require.NoError(t, err)
		}
		h.clock.Advance(second)
		require.ErrorIs(t, h.Sweep(context.Background()), broken)
		require.Equal(t, StatusDraining, h.status(t, "a"))
		require.Equal(t, StatusDeregistered, h.status(t, "b"))
		require.Equal(t, StatusUnhealthy, h.status(t, "c"))
	})
}

func TestASweepTakesMoreThanOneBatch(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		const many = 2*sweepBatch + 1
		for i := range many {
			h.register(t, fmt.Sprintf("agent-%03d", i))
		}
		h.pass(t, 91*second)
		h.sweep(t)
		response, err := h.ListAgents(asOperator(), &openintentv1.ListAgentsRequest{
			Status: pointer(openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY),
		})
		require.NoError(t, err)
		require.EqualValues(t, many, response.GetTotal())
	})
}

// A sweep does not wait for an agent that another transaction has locked, but leaves it to the next sweep. SQLite has a
// single writer, so no other transaction ever holds a lock there.
func TestASweepSkipsLockedAgents(t *testing.T) {
	h := newHouse(t, databasetest.URL(t, database.PostgreSQL))
	h.register(t, "a")
	h.register(t, "b")
	h.pass(t, 91*second)
	err := h.db.Write(context.Background(), func(tx *database.Tx) error {
		_, err := lock(tx, "a")
		require.NoError(t, err)
		h.sweep(t)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, StatusActive, h.status(t, "a"))
	require.Equal(t, StatusUnhealthy, h.status(t, "b"))
	h.sweep(t)
	require.Equal(t, StatusUnhealthy, h.status(t, "a"))
}
