package intents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/optional"
)

// coordinate makes an agent the coordinator of ann's intent, with a heartbeat each minute.
func (h *house) coordinate(t *testing.T, intentID, agent string) *openintentv1.Coordinator {
	t.Helper()
	made, err := h.CreateCoordinator(as("ann"), &openintentv1.CreateCoordinatorRequest{IntentId: &intentID, AgentId: &agent})
	require.NoError(t, err)
	return made
}

func (h *house) beat(agent, coordinatorID string) (*openintentv1.CoordinatorHeartbeatResponse, error) {
	return h.CoordinatorHeartbeat(as(agent), &openintentv1.CoordinatorHeartbeatRequest{CoordinatorId: coordinatorID})
}

func (h *house) coordinatorStatus(t *testing.T, coordinatorID string) openintentv1.CoordinatorStatus {
	t.Helper()
	found, err := h.GetCoordinator(as("ann"), &openintentv1.GetCoordinatorRequest{CoordinatorId: coordinatorID})
	require.NoError(t, err)
	return found.GetStatus()
}

func TestACoordinatorHasAdminAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		require.False(t, h.mayRead("bob", id))
		made := h.coordinate(t, id, "bob")
		require.Equal(t, openintentv1.CoordinatorStatus_COORDINATOR_STATUS_ACTIVE, made.GetStatus())
		require.Equal(t, "coordinator", made.GetRole())
		require.Equal(t, openintentv1.CoordinatorType_COORDINATOR_TYPE_LLM, made.GetCoordinatorType())
		require.EqualValues(t, 60, made.GetHeartbeatIntervalSeconds())
		require.Nil(t, made.GetExpiresAt())
		require.NotNil(t, made.GetMetadata())
		require.Nil(t, made.GetGuardrails())
		_, err := h.setStatus("bob", id, StatusBlocked)
		require.NoError(t, err)
		found, err := h.GetCoordinator(as("bob"), &openintentv1.GetCoordinatorRequest{CoordinatorId: made.GetId()})
		require.NoError(t, err)
		require.Equal(t, made.String(), found.String())
		_, err = h.GetCoordinator(as("eve"), &openintentv1.GetCoordinatorRequest{CoordinatorId: made.GetId()})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.GetCoordinator(as("eve"), &openintentv1.GetCoordinatorRequest{CoordinatorId: "none"})
		faulttest.Require(t, err, fault.NotFound, "COORDINATOR_NOT_FOUND")
	})
}

func TestACoordinatorIsMadeByAGrantedAdminOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		create := func(agent string) error {
			_, err := h.CreateCoordinator(as(agent), &openintentv1.CreateCoordinatorRequest{IntentId: &id})
			return err
		}
		refusal := faulttest.Require(t, create("bob"), fault.Denied, "FORBIDDEN")
		require.Equal(t, "admin", refusal.Metadata["required_permission"])
		h.closeList(t, id, entryFor("bob", PermissionAdmin), entryFor("eve", PermissionWrite))
		faulttest.Require(t, create("eve"), fault.Denied, "FORBIDDEN")
		require.NoError(t, create("bob"))
		faulttest.Require(t, create("ann"), fault.AlreadyExists, "COORDINATOR_EXISTS")
		faulttest.Require(t, create("eve"), fault.Denied, "FORBIDDEN")
	})
}

func TestCreateCoordinatorRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		for name, req := range map[string]*openintentv1.CreateCoordinatorRequest{
			"no intent":     {},
			"a portfolio":   {IntentId: &id, PortfolioId: pointer("p")},
			"its scope":     {IntentId: &id, Scope: openintentv1.CoordinatorScope_COORDINATOR_SCOPE_PORTFOLIO.Enum()},
			"two agents":    {IntentId: &id, AgentId: pointer("a"), CoordinatorId: pointer("b")},
			"no agent":      {IntentId: &id, AgentId: pointer("role:x")},
			"the past":      {IntentId: &id, ExpiresAt: optional.Time(h.clock.Now())},
			"U+0000":        {IntentId: &id, Role: pointer("\x00")},
			"no supervisor": {IntentId: &id, SupervisorId: pointer("\x00")},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := h.CreateCoordinator(as("ann"), req)
				faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			})
		}
		_, err := h.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &id})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD") // the operator is no agent
		made, err := h.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &id, CoordinatorId: pointer("bob")})
		require.NoError(t, err)
		require.Equal(t, "bob", made.GetAgentId())
	})
}

func TestASilentCoordinatorComesBackWithAHeartbeat(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		made := h.coordinate(t, id, "bob")
		heard := made.GetLastHeartbeatAt().AsTime()
		h.clock.Set(heard.Add(2 * time.Minute))
		require.True(t, h.mayRead("bob", id))
		h.clock.Advance(time.Microsecond)
		require.False(t, h.mayRead("bob", id))
		require.Equal(t, openintentv1.CoordinatorStatus_COORDINATOR_STATUS_UNRESPONSIVE, h.coordinatorStatus(t, made.GetId()))

		_, err := h.beat("eve", made.GetId())
		faulttest.Require(t, err, fault.Denied, "NOT_COORDINATOR")
		epoch := h.head(t, id).Epoch
		answer, err := h.beat("bob", made.GetId())
		require.NoError(t, err)
		require.Equal(t, "ok", answer.GetStatus())
		require.Equal(t, h.clock.Now().Add(time.Minute), answer.GetNextHeartbeatAt().AsTime())
		require.True(t, h.mayRead("bob", id), "cached rules are read again")
		require.Greater(t, h.head(t, id).Epoch, epoch)

		logged := h.eventTypes(t, id)
		require.Equal(t, "coordinator.resumed", logged[len(logged)-1])
		_, err = h.CoordinatorHeartbeat(asOperator(), &openintentv1.CoordinatorHeartbeatRequest{CoordinatorId: made.GetId()})
		require.NoError(t, err)
		require.Equal(t, logged, h.eventTypes(t, id), "a heartbeat alone is not logged")
	})
}

func TestASilentCoordinatorCanBeReplaced(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		former := h.coordinate(t, id, "bob")
		h.clock.Advance(3 * time.Minute)
		successor := h.coordinate(t, id, "eve")
		require.Equal(t, openintentv1.CoordinatorStatus_COORDINATOR_STATUS_FAILED_OVER, h.coordinatorStatus(t, former.GetId()))
		_, err := h.beat("bob", former.GetId())
		faulttest.Require(t, err, fault.Conflict, "COORDINATOR_ENDED")
		require.False(t, h.mayRead("bob", id))
		require.True(t, h.mayRead("eve", id))
		listed, err := h.ListCoordinators(as("eve"), &openintentv1.ListCoordinatorsRequest{IntentId: id})
		require.NoError(t, err)
		require.Len(t, listed.GetCoordinators(), 2)
		require.Equal(t, former.GetId(), listed.GetCoordinators()[0].GetId())
		events := h.log(t, id)
		require.Equal(t, "coordinator.failed_over", events[len(events)-2].GetEventType())
		require.Equal(t, "coordinator.handoff", events[len(events)-1].GetEventType())
		require.Equal(t, map[string]any{
			"coordinator_id": successor.GetId(), "agent_id": "eve",
			"previous_coordinator_id": former.GetId(), "previous_agent_id": "bob",
		}, events[len(events)-1].GetPayload().AsMap())
	})
}

func TestAnExpiredCoordinatorIsOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		until := h.clock.Now().Add(time.Minute)
		made, err := h.CreateCoordinator(as("ann"), &openintentv1.CreateCoordinatorRequest{
			IntentId: &id, AgentId: pointer("bob"), ExpiresAt: optional.Time(until),
		})
		require.NoError(t, err)
		h.clock.Set(until.Add(-time.Microsecond))
		require.True(t, h.mayRead("bob", id))
		h.clock.Set(until)
		require.False(t, h.mayRead("bob", id))
		require.Equal(t, openintentv1.CoordinatorStatus_COORDINATOR_STATUS_COMPLETED, h.coordinatorStatus(t, made.GetId()))
		_, err = h.beat("bob", made.GetId())
		faulttest.Require(t, err, fault.Conflict, "COORDINATOR_ENDED")
		_, err = h.RemoveCoordinator(as("ann"), &openintentv1.RemoveCoordinatorRequest{IntentId: id})
		faulttest.Require(t, err, fault.NotFound, "COORDINATOR_NOT_FOUND")
		h.coordinate(t, id, "eve")
	})
}

func TestRemoveCoordinator(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		remove := func(agent string) error {
			_, err := h.RemoveCoordinator(as(agent), &openintentv1.RemoveCoordinatorRequest{IntentId: id})
			return err
		}
		faulttest.Require(t, remove("ann"), fault.NotFound, "COORDINATOR_NOT_FOUND")
		first := h.coordinate(t, id, "bob")
		faulttest.Require(t, remove("eve"), fault.Denied, "FORBIDDEN")
		require.NoError(t, remove("bob"))
		require.Equal(t, openintentv1.CoordinatorStatus_COORDINATOR_STATUS_COMPLETED, h.coordinatorStatus(t, first.GetId()))
		h.coordinate(t, id, "bob")
		h.clock.Advance(time.Hour)
		require.NoError(t, remove("ann"), "a silent coordinator is still in place")
		events := h.log(t, id)
		last := events[len(events)-1]
		require.Equal(t, "coordinator.handoff", last.GetEventType())
		require.Nil(t, last.GetPayload().AsMap()["agent_id"])
		require.Equal(t, "bob", last.GetPayload().AsMap()["previous_agent_id"])
		requireValidChain(t, h, id)
	})
}

func TestCoordinatorsAreListedInPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, other := h.newIntent(t).GetId(), h.newIntent(t).GetId()
		h.coordinate(t, other, "bob")
		var want []string
		for range 5 {
			want = append(want, h.coordinate(t, id, "bob").GetId())
			_, err := h.RemoveCoordinator(as("bob"), &openintentv1.RemoveCoordinatorRequest{IntentId: id})
			require.NoError(t, err)
		}
		for limit := range int32(5) {
			req := &openintentv1.ListCoordinatorsRequest{IntentId: id, Limit: pointer(limit + 1)}
			var found []string
			for more := true; more; more = req.Cursor != nil {
				page, err := h.ListCoordinators(as("ann"), req)
				require.NoError(t, err)
				for _, coordinator := range page.GetCoordinators() {
					found = append(found, coordinator.GetId())
				}
				require.LessOrEqual(t, len(found), len(want))
				req.Cursor = page.NextCursor
			}
			require.Equal(t, want, found, "pages of %d", limit+1)
		}
	})
}
