package agents

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestTheDeadAreExplained(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var lines bytes.Buffer
		h.logger = slog.New(slog.NewTextHandler(&lines, nil))
		h.register(t, "a")
		heard := h.get(t, "a").GetLastHeartbeatAt().AsTime()
		h.pass(t, 91*second)
		h.sweep(t)
		unhealthy := h.get(t, "a")
		require.Equal(t, heard, unhealthy.GetSilentSince().AsTime())
		require.Nil(t, unhealthy.GetPresumedDeadAt())
		require.Equal(t, "No heartbeat for 91 s; the agent promised one every 30 s and counts as unhealthy after 90 s.",
			unhealthy.GetPresenceReason())

		h.pass(t, 210*second)
		h.sweep(t)
		dead := h.get(t, "a")
		why := "No heartbeat for 301 s; the agent promised one every 30 s and counts as dead after 300 s."
		require.Equal(t, heard, dead.GetSilentSince().AsTime())
		require.Equal(t, heard.Add(301*second), dead.GetPresumedDeadAt().AsTime())
		require.Equal(t, why, dead.GetPresenceReason())
		require.Contains(t, lines.String(), `msg="an agent is presumed dead" agent=a why="`+why+`"`)

		_, err := h.Heartbeat(as("a"), &openintentv1.HeartbeatRequest{AgentId: "a"})
		require.NoError(t, err)
		alive := h.get(t, "a")
		require.Nil(t, alive.GetSilentSince())
		require.Nil(t, alive.GetPresumedDeadAt())
		require.Nil(t, alive.PresenceReason)
	})
}

func TestACallSaysWhyAnAgentIsDead(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.put(t, "a", StatusUnhealthy)
		require.Equal(t, "A call set this status and gave no reason.", h.get(t, "a").GetPresenceReason())
		h.clock.Advance(second)
		dead, err := h.UpdateAgentStatus(as("a"), &openintentv1.UpdateAgentStatusRequest{
			AgentId: "a", Status: openintentv1.AgentStatus_AGENT_STATUS_DEAD, Reason: pointer(strings.Repeat("ü", 201)),
		})
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("ü", 200), dead.GetPresenceReason())
		require.NotNil(t, dead.GetPresumedDeadAt())
		require.Nil(t, dead.GetSilentSince(), "nobody measured a silence")
	})
}

func TestANoteComesWithASignOfLife(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		beat := func(note *string) {
			_, err := h.Heartbeat(as("a"), &openintentv1.HeartbeatRequest{AgentId: "a", StatusNote: note})
			require.NoError(t, err)
		}
		beat(pointer("reading the logs"))
		require.Equal(t, "reading the logs", h.get(t, "a").GetStatusNote())
		require.EqualValues(t, 1, h.get(t, "a").GetVersion(), "a heartbeat alone is no change")
		beat(nil)
		require.Equal(t, "reading the logs", h.get(t, "a").GetStatusNote(), "a heartbeat without a note keeps it")

		changed, err := h.UpdateAgentStatus(as("a"), &openintentv1.UpdateAgentStatusRequest{
			AgentId: "a", Status: openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, StatusNote: pointer("writing the report"),
		})
		require.NoError(t, err)
		require.Equal(t, "writing the report", changed.GetStatusNote())
		require.EqualValues(t, 2, changed.GetVersion())

		h.pass(t, 301*second)
		h.sweep(t)
		require.Equal(t, "writing the report", h.get(t, "a").GetStatusNote(), "last words stay")
		beat(pointer(""))
		require.Nil(t, h.get(t, "a").StatusNote)
	})
}

func TestOnlyItsOwnerSetsANote(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		for _, note := range []string{"x", ""} {
			_, err := h.Heartbeat(as("b"), &openintentv1.HeartbeatRequest{AgentId: "a", StatusNote: &note})
			faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
			_, err = h.UpdateAgentStatus(as("b"), &openintentv1.UpdateAgentStatusRequest{
				AgentId: "a", Status: openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, StatusNote: &note,
			})
			faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		}
		_, err := h.Heartbeat(as("a"), &openintentv1.HeartbeatRequest{AgentId: "a", StatusNote: pointer("a\x00b")})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		require.Nil(t, h.get(t, "a").StatusNote)
	})
}
