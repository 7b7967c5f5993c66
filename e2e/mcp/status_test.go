package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// An agent that says something about itself gets a record; one that only looks gets none.
func TestStatusIsForOthersToSee(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.reviewer(t, "bob")
		answer, _ := ann.call(t, "status", nil)
		require.Equal(t, []object{{"agent": "bob", "role": "reviewer", "reach": "none"}}, list(t, answer, "others"))
		require.NotContains(t, answer, "me")

		answer, _ = ann.call(t, "status", arguments{"state": "busy", "note": "reads section 3"})
		require.Equal(t, object{"agent": "ann", "note": "busy: reads section 3"}, answer["me"])
		answer, _ = bob.call(t, "status", nil)
		require.Equal(t, []object{{"agent": "ann", "reach": "none", "note": "busy: reads section 3"}}, list(t, answer, "others"))
		record, err := bob.direct.Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: "ann"})
		require.NoError(t, err)
		require.EqualValues(t, 3600, record.GetHeartbeatConfig().GetUnhealthyAfterSeconds())

		ann.call(t, "status", arguments{"state": "", "note": ""})
		answer, _ = bob.call(t, "status", nil)
		require.Equal(t, []object{{"agent": "ann", "reach": "none", "note": "busy: reads section 3"}}, list(t, answer, "others"), "it has said nothing new")

		_, err = ann.direct.Agents.DeregisterAgent(t.Context(), &openintentv1.DeregisterAgentRequest{AgentId: "ann"})
		require.NoError(t, err)
		answer, _ = ann.call(t, "status", arguments{"state": "back"})
		require.Equal(t, object{"agent": "ann", "note": "back"}, answer["me"])
		require.Equal(t, "INVALID_FIELD", ann.refused(t, "status", arguments{"state": strings.Repeat("x", 33)}).Refused)
	})
}

// A key that is for one role gives the agent this role when it registers.
func TestTheOnlyRoleOfAKeyIsTaken(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		made, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{
			Label: "x", Agents: []string{"dora"}, Roles: []string{"writer"},
		})
		require.NoError(t, err)
		dora := h.connect(t, made.GetSecret(), "", newest, nil)
		answer, _ := dora.call(t, "status", arguments{"state": "ready"})
		require.Equal(t, object{"agent": "dora", "role": "writer", "note": "ready"}, answer["me"])
	})
}

func TestStatusShowsAFewOthers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 23 {
			_, err := h.With(harness.Key, fmt.Sprint("agent-", i)).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{})
			require.NoError(t, err)
		}
		_, err := h.With(harness.Key, "agent-0").Agents.UpdateAgentStatus(t.Context(), &openintentv1.UpdateAgentStatusRequest{
			AgentId: "agent-0", Status: openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
		})
		require.NoError(t, err)
		answer, line := h.join(t, "agent-1").call(t, "status", arguments{"state": "busy"})
		require.Len(t, list(t, answer, "others"), 20)
		require.EqualValues(t, 2, answer["more"])
		require.Less(t, len(line), 3000)
		require.NotContains(t, fmt.Sprint(answer["others"]), "agent-1 ")
		require.NotContains(t, fmt.Sprint(answer["others"]), "agent-0 ", "those at work come first")
	})
}
