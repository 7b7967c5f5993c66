package agents

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

var stored = []Status{StatusActive, StatusDraining, StatusUnhealthy, StatusDead, StatusDeregistered}

func TestEveryPairOfStatuses(t *testing.T) {
	legal := map[[2]Status]bool{
		{StatusActive, StatusDraining}:     true,
		{StatusActive, StatusUnhealthy}:    true,
		{StatusUnhealthy, StatusActive}:    true,
		{StatusUnhealthy, StatusDraining}:  true,
		{StatusUnhealthy, StatusDead}:      true,
		{StatusDraining, StatusDead}:       true,
		{StatusActive, StatusDeregistered}: true, {StatusDraining, StatusDeregistered}: true,
		{StatusUnhealthy, StatusDeregistered}: true, {StatusDead, StatusDeregistered}: true,
	}
	eachHouse(t, func(t *testing.T, h *house) {
		for _, from := range stored {
			for _, to := range append([]Status{StatusRegistering}, stored...) {
				agent := string(from) + "-" + string(to)
				h.put(t, agent, from)
				before := h.get(t, agent)
				after, err := h.setStatus(agent, to)
				switch {
				case from == to:
					require.NoError(t, err, agent)
					require.Equal(t, before, after, "the same status changes nothing")
				case legal[[2]Status{from, to}]:
					require.NoError(t, err, agent)
					require.Equal(t, to, h.status(t, agent))
					require.Equal(t, before.GetVersion()+1, after.GetVersion())
				default:
					faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
					require.Equal(t, before, h.get(t, agent))
				}
			}
		}
	})
}

func TestStatusBelongsToTheOwner(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		draining := &openintentv1.UpdateAgentStatusRequest{
			AgentId: "a", Status: openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
		}
		strangers := []context.Context{
			as("b"),
			asCaller(caller.Caller{Agent: "b", KeyID: "key-a"}), // the key cannot speak for an agent that it does not name
		}
		for _, ctx := range strangers {
			_, err := h.UpdateAgentStatus(ctx, draining)
			faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
			_, err = h.Heartbeat(ctx, &openintentv1.HeartbeatRequest{AgentId: "a"})
			faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
			_, err = h.DeregisterAgent(ctx, &openintentv1.DeregisterAgentRequest{AgentId: "a"})
			faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		}
		_, err := h.UpdateAgentStatus(context.Background(), draining)
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")

		_, err = h.UpdateAgentStatus(asCaller(caller.Caller{Agent: "b", KeyAgents: []string{"b", "a"}}), draining)
		require.NoError(t, err, "the key is bound to a, too")
		_, err = h.DeregisterAgent(asOperator(), &openintentv1.DeregisterAgentRequest{AgentId: "a"})
		require.NoError(t, err)
	})
}

func TestUnknownAgents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, agent := range []string{"nobody", "operator", "a\x00", "a\xff", ""} {
			_, err := h.GetAgent(asOperator(), &openintentv1.GetAgentRequest{AgentId: agent})
			faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
			_, err = h.DeregisterAgent(asOperator(), &openintentv1.DeregisterAgentRequest{AgentId: agent})
			faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
			_, err = h.Heartbeat(asOperator(), &openintentv1.HeartbeatRequest{AgentId: agent})
			faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
		}
		_, err := h.GetAgent(context.Background(), &openintentv1.GetAgentRequest{AgentId: "nobody"})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

func TestStatusChecksTheVersionIfGiven(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		change := func(version int64, status Status) error {
			_, err := h.UpdateAgentStatus(as("a"), &openintentv1.UpdateAgentStatusRequest{
				AgentId: "a", Status: statusMessages[status], ExpectedVersion: &version,
			})
			return err
		}
		require.NoError(t, change(1, StatusUnhealthy))
		err := change(1, StatusDraining)
		faulttest.Require(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		require.Equal(t, "2", fault.From(err).Metadata["current_version"])
		require.NoError(t, change(2, StatusDraining))
	})
}

func TestOfTwoChangesOfOneVersionOneWins(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		errs := make([]error, 6)
		var running sync.WaitGroup
		for i := range errs {
			running.Go(func() {
				_, errs[i] = h.UpdateAgentStatus(as("a"), &openintentv1.UpdateAgentStatusRequest{
					AgentId: "a", Status: statusMessages[StatusDraining], ExpectedVersion: pointer(int64(1)),
				})
			})
		}
		running.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			faulttest.Require(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		}
		require.Equal(t, 1, won)
		require.EqualValues(t, 2, h.get(t, "a").GetVersion())
	})
}

func TestHeartbeat(t *testing.T) {
	type want struct {
		status Status
		gone   bool
	}
	none, active := (*openintentv1.AgentStatus)(nil), pointer(openintentv1.AgentStatus_AGENT_STATUS_ACTIVE)
	draining := pointer(openintentv1.AgentStatus_AGENT_STATUS_DRAINING)
	cases := []struct {
		from     Status
		reported *openintentv1.AgentStatus
		want
	}{
		{StatusActive, none, want{status: StatusActive}},
		{StatusActive, draining, want{status: StatusDraining}},
		{StatusDraining, active, want{status: StatusDraining}},
		{StatusDraining, draining, want{status: StatusDraining}},
		{StatusUnhealthy, none, want{status: StatusActive}},
		{StatusUnhealthy, active, want{status: StatusActive}},
		{StatusUnhealthy, draining, want{status: StatusDraining}},
		{StatusDead, none, want{status: StatusActive}},
		{StatusDead, active, want{status: StatusActive}},
		{StatusDead, draining, want{status: StatusDraining}},
		{StatusDeregistered, active, want{gone: true}},
	}
	eachHouse(t, func(t *testing.T, h *house) {
		for i, c := range cases {
			agent := string(c.from) + string(rune('a'+i))
			h.put(t, agent, c.from)
			before := h.get(t, agent)
			now := h.clock.Advance(second)
			answer, err := h.Heartbeat(as(agent), &openintentv1.HeartbeatRequest{
				AgentId: agent, Status: c.reported, CurrentLoad: pointer(int32(3)),
			})
			if c.gone {
				faulttest.Require(t, err, fault.Gone, "AGENT_GONE")
				require.Equal(t, before, h.get(t, agent))
				continue
			}
			require.NoError(t, err)
			require.True(t, answer.GetAcknowledged())
			require.Equal(t, "ok", answer.GetStatus())
			require.Equal(t, c.status, statusOf(answer.GetAgentStatus()))
			require.Equal(t, now, answer.GetServerTimestamp().AsTime())
			require.Equal(t, now.Add(30*second), answer.GetNextHeartbeatAt().AsTime())
			after := h.get(t, agent)
			require.Equal(t, c.status, statusOf(after.GetStatus()))
			require.Equal(t, now, after.GetLastHeartbeatAt().AsTime())
			require.EqualValues(t, 3, after.GetCapacity().GetCurrentLoad())
			if c.from == c.status {
				require.Equal(t, before.GetVersion(), after.GetVersion(), "a heartbeat alone is no change")
			} else {
				require.Equal(t, before.GetVersion()+1, after.GetVersion())
			}
		}
	})
}

func TestDeregistrationRunsItsHooks(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var inside, after []string
		var departedAt time.Time
		h.OnDeparted(func(tx *database.Tx, agentID string, at time.Time) error {
			stored, err := find(tx, agentID)
			require.NoError(t, err)
			require.Equal(t, StatusDeregistered, stored.Status, "the hook sees the change that its transaction made")
			inside, departedAt = append(inside, agentID), at
			return nil
		})
		h.AfterDeparted(func(_ context.Context, agentID string) {
			require.Equal(t, StatusDeregistered, h.status(t, agentID), "the change is committed before the hook runs")
			after = append(after, agentID)
		})
		h.register(t, "a")
		now := h.clock.Advance(second)
		deregister := &openintentv1.DeregisterAgentRequest{AgentId: "a"}
		_, err := h.DeregisterAgent(as("a"), deregister)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, inside)
		require.Equal(t, []string{"a"}, after)
		require.Equal(t, now, departedAt)
		p, _ := h.presence(t, "a")
		require.Equal(t, now, p.DepartedAt)
		require.Equal(t, []string{"a", "a"}, h.changes)

		h.clock.Advance(second)
		_, err = h.DeregisterAgent(as("a"), deregister)
		require.NoError(t, err, "deregistering again is harmless")
		again, _ := h.presence(t, "a")
		require.Equal(t, p, again)
		require.Len(t, inside, 1)
		require.Len(t, after, 1)

		h.register(t, "b")
		_, err = h.setStatus("b", StatusDeregistered)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, inside, "a departure by status runs the hook as well")
		require.Equal(t, []string{"a", "b"}, after)
	})
}

func TestAFailingHookUndoesTheDeregistration(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		broken := errors.New("broken")
		h.OnDeparted(func(*database.Tx, string, time.Time) error { return broken })
		h.AfterDeparted(func(context.Context, string) { t.Error("nobody departed") })
		registered := h.register(t, "a")
		_, err := h.DeregisterAgent(as("a"), &openintentv1.DeregisterAgentRequest{AgentId: "a"})
		require.ErrorIs(t, err, broken)
		require.Equal(t, registered, h.get(t, "a"))
		require.Equal(t, []string{"a"}, h.changes, "only the registration was reported")
	})
}

// A call returns an error if its commit was stored but not acknowledged. The retry then finds the work done.
func TestDeregistrationSurvivesALostAcknowledgement(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		faults := &databasetest.CommitFaults{}
		db := databasetest.Open(t, database.Config{URL: url, Hooks: faults.Hooks()})
		h := &house{Service: New(Config{DB: db})}
		h.register(t, "a")
		faults.FailAfter(1)
		deregister := &openintentv1.DeregisterAgentRequest{AgentId: "a"}
		_, err := h.DeregisterAgent(as("a"), deregister)
		require.True(t, database.IsCommitUnknown(err), "%v", err)
		_, err = h.DeregisterAgent(as("a"), deregister)
		require.NoError(t, err)
		require.Equal(t, StatusDeregistered, h.status(t, "a"))
	})
}

func TestADepartureNeverMovesBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.put(t, "a", StatusDeregistered)
		first, _ := h.presence(t, "a")
		h.clock.Set(h.clock.Now().Add(-time.Hour))
		h.register(t, "a")
		_, err := h.setStatus("a", StatusDeregistered)
		require.NoError(t, err)
		second, _ := h.presence(t, "a")
		require.Equal(t, first.DepartedAt, second.DepartedAt)
	})
}
