package agents

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestHoldsRole(t *testing.T) {
	holds := map[Status]bool{
		StatusRegistering: false, StatusActive: true, StatusDraining: true, StatusUnhealthy: true,
		StatusDead: false, StatusDeregistered: false,
	}
	for status, want := range holds {
		p := Presence{AgentID: "a", RoleID: "x", Status: status}
		require.Equal(t, want, p.HoldsRole("x"), status)
		require.False(t, p.HoldsRole("y"), status)
	}
	require.False(t, Presence{Status: StatusActive}.HoldsRole(""), "no role is not the empty role")
}

func TestPresences(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.RegisterAgent(as("a"), &openintentv1.RegisterAgentRequest{RoleId: pointer("x")})
		require.NoError(t, err)
		h.put(t, "b", StatusDeregistered)
		err = h.db.Read(context.Background(), func(tx *database.Tx) error {
			presences, err := LoadPresences(tx, []string{"a", "b", "c", "a"})
			require.NoError(t, err)
			require.Equal(t, map[string]Presence{
				"a": {AgentID: "a", RoleID: "x", RoleSince: h.clock.Now(), Status: StatusActive, Version: 1},
				"b": {AgentID: "b", Status: StatusDeregistered, DepartedAt: h.clock.Now(), Version: 2},
			}, presences)
			none, err := LoadPresences(tx, nil)
			require.NoError(t, err)
			require.Empty(t, none)

			statement, prepared := PreparePresences(tx, []string{"a", "b"})
			require.Empty(t, prepared)
			nobody, unknown := PreparePresences(tx, []string{})
			require.NoError(t, tx.Pipeline(statement, nobody))
			require.Len(t, prepared, 2)
			require.Empty(t, unknown)
			return nil
		})
		require.NoError(t, err)
	})
}

func TestListAgents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		register := func(agent, role string, most, load int32, capabilities ...string) {
			_, err := h.RegisterAgent(as(agent), &openintentv1.RegisterAgentRequest{
				RoleId:       &role,
				Capabilities: capabilities,
				Capacity:     &openintentv1.AgentCapacity{MaxConcurrentTasks: most, CurrentLoad: load},
			})
			require.NoError(t, err)
		}
		register("b", "x", 5, 5, "mail")
		register("a", "x", 5, 3, "pdf", "mail")
		register("B", "y", 1, 0)
		register("gone", "x", 9, 0, "pdf")
		_, err := h.setStatus("gone", StatusDraining)
		require.NoError(t, err)

		names := func(ctx context.Context, req *openintentv1.ListAgentsRequest) []string {
			response, err := h.ListAgents(ctx, req)
			require.NoError(t, err)
			require.Len(t, response.GetAgents(), int(response.GetTotal()))
			var found []string
			for _, agent := range response.GetAgents() {
				found = append(found, agent.GetAgentId())
			}
			return found
		}
		draining := pointer(openintentv1.AgentStatus_AGENT_STATUS_DRAINING)
		compatible := asCaller(caller.Caller{Agent: "a", Compatibility: true})

		require.Equal(t, []string{"B", "a", "b"}, names(as("a"), &openintentv1.ListAgentsRequest{}), "active ones, by bytes")
		require.Equal(t, []string{"B", "a", "b", "gone"}, names(compatible, &openintentv1.ListAgentsRequest{}))
		require.Equal(t, []string{"gone"}, names(as("a"), &openintentv1.ListAgentsRequest{Status: draining}))
		require.Equal(t, []string{"gone"}, names(compatible, &openintentv1.ListAgentsRequest{Status: draining}))
		require.Equal(t, []string{"a", "b"}, names(as("a"), &openintentv1.ListAgentsRequest{RoleId: pointer("x")}))
		require.Equal(t, []string{"a", "b"},
			names(as("a"), &openintentv1.ListAgentsRequest{Capabilities: []string{"mail", "other"}}))
		require.Empty(t, names(as("a"), &openintentv1.ListAgentsRequest{Capabilities: []string{"other"}}))
		require.Equal(t, []string{"B", "a"},
			names(as("a"), &openintentv1.ListAgentsRequest{MinAvailableCapacity: pointer(int32(1))}))
		require.Equal(t, []string{"a"},
			names(as("a"), &openintentv1.ListAgentsRequest{MinAvailableCapacity: pointer(int32(2))}))
		require.Len(t, names(as("a"), &openintentv1.ListAgentsRequest{MinAvailableCapacity: pointer(int32(0))}), 3)

		_, err = h.ListAgents(context.Background(), &openintentv1.ListAgentsRequest{})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.ListAgents(as("a"), &openintentv1.ListAgentsRequest{RoleId: pointer("\x00")})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}
