package agents

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestRegistrationComesBackAsItWasSent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		metadata, err := structpb.NewStruct(map[string]any{"version": "1.2", "cores": 8.0})
		require.NoError(t, err)
		registered, err := h.RegisterAgent(as("worker"), &openintentv1.RegisterAgentRequest{
			AgentId:             pointer("worker"),
			RoleId:              pointer("billing"),
			Name:                pointer("The worker"),
			Capabilities:        []string{"pdf", "mail"},
			Capacity:            &openintentv1.AgentCapacity{MaxConcurrentTasks: 7, CurrentLoad: 2},
			Status:              pointer(openintentv1.AgentStatus_AGENT_STATUS_ACTIVE),
			Endpoint:            pointer("https://worker.example/hook"),
			HeartbeatConfig:     &openintentv1.HeartbeatConfig{IntervalSeconds: pointer(int32(10)), UnhealthyAfterSeconds: pointer(int32(20))},
			Metadata:            metadata,
			DrainTimeoutSeconds: pointer(int32(0)),
		})
		require.NoError(t, err)
		require.Equal(t, registered, h.get(t, "worker"))

		require.Equal(t, "billing", registered.GetRoleId())
		require.Equal(t, "The worker", registered.GetName())
		require.Equal(t, []string{"pdf", "mail"}, registered.GetCapabilities())
		require.EqualValues(t, 7, registered.GetCapacity().GetMaxConcurrentTasks())
		require.EqualValues(t, 2, registered.GetCapacity().GetCurrentLoad())
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, registered.GetStatus())
		require.Equal(t, "https://worker.example/hook", registered.GetEndpoint())
		require.EqualValues(t, 10, registered.GetHeartbeatConfig().GetIntervalSeconds())
		require.EqualValues(t, 20, registered.GetHeartbeatConfig().GetUnhealthyAfterSeconds())
		require.EqualValues(t, 300, registered.GetHeartbeatConfig().GetDeadAfterSeconds())
		require.Equal(t, metadata.AsMap(), registered.GetMetadata().AsMap())
		require.EqualValues(t, 0, registered.GetDrainTimeoutSeconds())
		require.NotNil(t, registered.DrainTimeoutSeconds)
		require.EqualValues(t, 1, registered.GetVersion())
		require.Equal(t, h.clock.Now(), registered.GetRegisteredAt().AsTime())
		require.Equal(t, h.clock.Now(), registered.GetLastHeartbeatAt().AsTime())
		require.Equal(t, []string{"worker"}, h.changes)
	})
}

func TestRegistrationFillsInDefaults(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		registered, err := h.RegisterAgent(as("worker"), &openintentv1.RegisterAgentRequest{})
		require.NoError(t, err)
		require.Equal(t, "worker", registered.GetAgentId(), "the caller's own id")
		require.Nil(t, registered.RoleId)
		require.Nil(t, registered.Name)
		require.Nil(t, registered.Endpoint)
		require.Nil(t, registered.DrainTimeoutSeconds)
		require.Empty(t, registered.GetCapabilities())
		require.EqualValues(t, 5, registered.GetCapacity().GetMaxConcurrentTasks())
		require.EqualValues(t, 30, registered.GetHeartbeatConfig().GetIntervalSeconds())
		require.EqualValues(t, 90, registered.GetHeartbeatConfig().GetUnhealthyAfterSeconds())
		require.EqualValues(t, 300, registered.GetHeartbeatConfig().GetDeadAfterSeconds())
		require.Empty(t, registered.GetMetadata().AsMap())
		require.NotNil(t, registered.GetMetadata())

		made, err := h.RegisterAgent(asOperator(), &openintentv1.RegisterAgentRequest{})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(made.GetAgentId(), "agent_"), "the operator gets a new id")
	})
}

func TestRegistrationRefusals(t *testing.T) {
	long := strings.Repeat("é", 257)
	silence := func(interval, unhealthy, dead int32) *openintentv1.RegisterAgentRequest {
		return &openintentv1.RegisterAgentRequest{HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: &interval, UnhealthyAfterSeconds: &unhealthy, DeadAfterSeconds: &dead,
		}}
	}
	cases := []struct {
		name   string
		ctx    context.Context
		req    *openintentv1.RegisterAgentRequest
		kind   fault.Kind
		reason string
		field  string
	}{
		{"no caller", context.Background(), registering("a"), fault.Unauthenticated, "UNAUTHENTICATED", ""},
		{"another agent", as("b"), registering("a"), fault.Denied, "NOT_AGENT_OWNER", ""},
		{"slash", asOperator(), registering("a/b"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"control character", asOperator(), registering("a\u0085b"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"not UTF-8", asOperator(), registering("a\xff"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"long", asOperator(), registering(long), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"operator", asOperator(), registering("operator"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"system", asOperator(), registering("system"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"everyone", asOperator(), registering("*"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{"role address", asOperator(), registering("role:x"), fault.Invalid, "INVALID_FIELD", "agent_id"},
		{
			"status", as("a"),
			&openintentv1.RegisterAgentRequest{Status: pointer(openintentv1.AgentStatus_AGENT_STATUS_DRAINING)},
			fault.Invalid, "INVALID_FIELD", "status",
		},
		{
			"zero character", as("a"), &openintentv1.RegisterAgentRequest{Name: pointer("a\x00")},
			fault.Invalid, "INVALID_FIELD", "name",
		},
		{
			"zero character in a capability", as("a"), &openintentv1.RegisterAgentRequest{Capabilities: []string{"x", "\x00"}},
			fault.Invalid, "INVALID_FIELD", "capabilities[1]",
		},
		{
			"role with control character", as("a"), &openintentv1.RegisterAgentRequest{RoleId: pointer("a\n")},
			fault.Invalid, "INVALID_FIELD", "role_id",
		},
		{
			"metadata", as("a"), &openintentv1.RegisterAgentRequest{Metadata: &structpb.Struct{
				Fields: map[string]*structpb.Value{"x": structpb.NewStringValue("\x00")},
			}},
			fault.Invalid, "INVALID_FIELD", "metadata.x",
		},
		{
			"large metadata", as("a"), &openintentv1.RegisterAgentRequest{Metadata: &structpb.Struct{
				Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", maxMetadataBytes))},
			}},
			fault.TooLarge, "TOO_LARGE", "metadata",
		},
		{
			"unhealthy too early", as("a"), silence(30, 59, 300),
			fault.Invalid, "INVALID_FIELD", "heartbeat_config.unhealthy_after_seconds",
		},
		{
			"dead too early", as("a"), silence(30, 60, 119),
			fault.Invalid, "INVALID_FIELD", "heartbeat_config.dead_after_seconds",
		},
	}
	eachHouse(t, func(t *testing.T, h *house) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				for _, call := range []func(context.Context, *openintentv1.RegisterAgentRequest) (*openintentv1.Agent, error){
					h.RegisterAgent, h.UpsertAgent,
				} {
					_, err := call(c.ctx, c.req)
					faulttest.Require(t, err, c.kind, c.reason)
					if c.field != "" {
						require.Equal(t, c.field, fault.From(err).Fields[0].Path)
					}
				}
			})
		}
		require.Empty(t, h.changes)
		_, err := h.RegisterAgent(as("a"), silence(30, 60, 120))
		require.NoError(t, err, "twice is enough")
		_, err = h.RegisterAgent(asOperator(), registering(strings.Repeat("é", 256)))
		require.NoError(t, err, "256 characters are allowed")
	})
}

func TestAKeyMayRegisterOnlyItsAgentsAndRoles(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		ctx := asCaller(caller.Caller{Agent: "a", KeyID: "k", KeyAgents: []string{"a", "b"}, KeyRoles: []string{"reader"}})
		_, err := h.RegisterAgent(ctx, registering("b"))
		require.NoError(t, err, "the key is bound to b, too")
		_, err = h.RegisterAgent(ctx, registering("c"))
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")

		_, err = h.RegisterAgent(ctx, &openintentv1.RegisterAgentRequest{RoleId: pointer("writer")})
		faulttest.Require(t, err, fault.Denied, "ROLE_NOT_ALLOWED")
		_, err = h.RegisterAgent(ctx, &openintentv1.RegisterAgentRequest{RoleId: pointer("reader")})
		require.NoError(t, err)
		_, err = h.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{RoleId: pointer("writer")})
		faulttest.Require(t, err, fault.Denied, "ROLE_NOT_ALLOWED")
		require.Equal(t, "reader", h.get(t, "a").GetRoleId())

		unbound := asCaller(caller.Caller{Agent: "d", KeyID: "k2"})
		_, err = h.RegisterAgent(unbound, &openintentv1.RegisterAgentRequest{RoleId: pointer("writer")})
		faulttest.Require(t, err, fault.Denied, "ROLE_NOT_ALLOWED")
		_, err = h.UpsertAgent(unbound, &openintentv1.RegisterAgentRequest{RoleId: pointer("writer")})
		faulttest.Require(t, err, fault.Denied, "ROLE_NOT_ALLOWED")
		_, err = h.RegisterAgent(unbound, registering("d"))
		require.NoError(t, err, "a key without a list of roles may register without a role")
		_, err = h.UpsertAgent(asOperator(), &openintentv1.RegisterAgentRequest{AgentId: pointer("d"), RoleId: pointer("writer")})
		require.NoError(t, err, "the operator may give any agent any role")
		_, err = h.UpsertAgent(unbound, &openintentv1.RegisterAgentRequest{Name: pointer("Dee")})
		require.NoError(t, err)
		require.Equal(t, "writer", h.get(t, "d").GetRoleId(), "an agent that names no role keeps the one it holds")
		_, err = h.UpsertAgent(unbound, registering("a"))
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
	})
}

func TestRegisteringAgain(t *testing.T) {
	present := map[Status]bool{StatusActive: true, StatusDraining: true, StatusUnhealthy: true}
	eachHouse(t, func(t *testing.T, h *house) {
		for _, status := range []Status{StatusActive, StatusDraining, StatusUnhealthy, StatusDead, StatusDeregistered} {
			t.Run(string(status), func(t *testing.T) {
				agent := "agent-" + string(status)
				h.put(t, agent, status)
				before, _ := h.presence(t, agent)
				h.clock.Advance(second)
				again, err := h.RegisterAgent(as(agent), &openintentv1.RegisterAgentRequest{RoleId: pointer("new")})
				if present[status] {
					faulttest.Require(t, err, fault.AlreadyExists, "AGENT_EXISTS")
					require.Equal(t, status, h.status(t, agent))
					return
				}
				require.NoError(t, err)
				require.EqualValues(t, 1, again.GetVersion())
				require.Equal(t, h.clock.Now(), again.GetRegisteredAt().AsTime())
				after, _ := h.presence(t, agent)
				require.Equal(t, Presence{
					AgentID: agent, RoleID: "new", RoleSince: h.clock.Now(), Status: StatusActive, DepartedAt: before.DepartedAt, Version: 1,
				}, after, "the last departure outlives the new registration")
			})
		}
	})
}

func TestUpsertUpdatesWhatIsGiven(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		metadata, err := structpb.NewStruct(map[string]any{"a": true})
		require.NoError(t, err)
		_, err = h.UpsertAgent(as("worker"), &openintentv1.RegisterAgentRequest{
			RoleId: pointer("billing"), Name: pointer("Old"), Capabilities: []string{"pdf"}, Metadata: metadata,
		})
		require.NoError(t, err)
		h.clock.Advance(second)
		updated, err := h.UpsertAgent(as("worker"), &openintentv1.RegisterAgentRequest{
			Name: pointer("New"), Capacity: &openintentv1.AgentCapacity{CurrentLoad: 3},
		})
		require.NoError(t, err)
		require.Equal(t, "New", updated.GetName())
		require.Equal(t, "billing", updated.GetRoleId())
		require.Equal(t, []string{"pdf"}, updated.GetCapabilities())
		require.Equal(t, metadata.AsMap(), updated.GetMetadata().AsMap())
		require.EqualValues(t, 5, updated.GetCapacity().GetMaxConcurrentTasks())
		require.EqualValues(t, 3, updated.GetCapacity().GetCurrentLoad())
		require.EqualValues(t, 2, updated.GetVersion())
		require.Equal(t, h.clock.Now(), updated.GetLastHeartbeatAt().AsTime())
		require.True(t, updated.GetRegisteredAt().AsTime().Before(h.clock.Now()))
		require.Equal(t, updated, h.get(t, "worker"))
		require.Equal(t, []string{"worker"}, h.changes, "nobody waits for a new name")

		_, err = h.UpsertAgent(as("worker"), &openintentv1.RegisterAgentRequest{RoleId: pointer("")})
		require.NoError(t, err)
		require.Nil(t, h.get(t, "worker").RoleId, "an empty role stands for none")
		require.Len(t, h.changes, 2)

		_, err = h.UpsertAgent(as("worker"), &openintentv1.RegisterAgentRequest{
			HeartbeatConfig: &openintentv1.HeartbeatConfig{DeadAfterSeconds: pointer(int32(179))},
		})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

func TestUpsertByStatus(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, before := range stored {
			agent := "agent-" + string(before)
			h.put(t, agent, before)
			_, err := h.UpsertAgent(as(agent), registering(agent))
			require.NoError(t, err)
			require.Equal(t, StatusActive, h.status(t, agent), "after %s", before)
		}
	})
}

// An agent that drained and registers again no longer leaves: its drain timeout starts anew with the next drain.
func TestRegisteringEndsADrain(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		said := registering("worker")
		said.DrainTimeoutSeconds = pointer(int32(60))
		_, err := h.UpsertAgent(as("worker"), said)
		require.NoError(t, err)
		_, err = h.setStatus("worker", StatusDraining)
		require.NoError(t, err)
		h.clock.Advance(30 * second)
		h.changes = nil
		again, err := h.UpsertAgent(as("worker"), registering("worker"))
		require.NoError(t, err)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, again.GetStatus())
		require.EqualValues(t, 3, again.GetVersion())
		require.Equal(t, []string{"worker"}, h.changes)

		h.clock.Advance(31 * second)
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "worker"))
		_, err = h.setStatus("worker", StatusDraining)
		require.NoError(t, err)
		h.clock.Advance(59 * second)
		h.sweep(t)
		require.Equal(t, StatusDraining, h.status(t, "worker"))
		h.clock.Advance(2 * second)
		h.sweep(t)
		require.Equal(t, StatusDeregistered, h.status(t, "worker"))
	})
}

func TestOneOfManyRegistrationsWins(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		const racers = 8
		for _, upsert := range []bool{false, true} {
			agent := "strict"
			call := h.RegisterAgent
			if upsert {
				agent, call = "upsert", h.UpsertAgent
			}
			errs := make([]error, racers)
			var running sync.WaitGroup
			for i := range racers {
				running.Go(func() { _, errs[i] = call(as(agent), registering(agent)) })
			}
			running.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
					continue
				}
				require.ErrorIs(t, err, ErrExists)
			}
			if upsert {
				require.Equal(t, racers, won)
				require.EqualValues(t, racers, h.get(t, agent).GetVersion(), "no update is lost")
			} else {
				require.Equal(t, 1, won)
			}
		}
	})
}
