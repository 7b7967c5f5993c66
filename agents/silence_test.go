package agents

import (
	"context"
	"errors"
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

// restart replaces the house's server by a new one on the same database, which begins to sweep now.
func (h *house) restart() { h.Service = New(Config{DB: h.db}) }

func (h *house) beat(agent string) (*openintentv1.HeartbeatResponse, error) {
	return h.Heartbeat(as(agent), &openintentv1.HeartbeatRequest{AgentId: agent})
}

func TestDowntimeIsNotSilence(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		h.clock.Advance(time.Hour)
		h.restart()
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"))
		h.pass(t, 90*second)
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"), "since the start the agent was silent for no more than 90 s")
		h.clock.Advance(time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusUnhealthy, h.status(t, "a"))
		h.pass(t, 210*second)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
	})
}

// A server that was frozen, or a clock that was set forward, looks like a long pause between two sweeps.
func TestAGapBetweenSweepsIsNotSilence(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		h.pass(t, 80*second)
		h.clock.Advance(time.Hour)
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"))
		h.pass(t, 90*second+time.Microsecond)
		h.sweep(t)
		require.Equal(t, StatusUnhealthy, h.status(t, "a"), "it was silent for 90 s after the gap")
	})
}

func TestAnAbsentDatabaseIsNotSilence(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "a")
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		for range 40 { // the server is there all the time
			h.clock.Advance(sweepGap)
			require.Error(t, h.Sweep(gone))
		}
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"))
	})
}

// A sweep that could not store anything, because the database was away, heard nobody either.
func TestASweepThatCannotWriteHearsNothing(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		faults := &databasetest.CommitFaults{}
		clock := databasetest.NewClock()
		db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now, Hooks: faults.Hooks()})
		h := &house{Service: New(Config{DB: db}), clock: clock}
		h.register(t, "a")
		h.pass(t, 90*second)
		faults.FailBefore(100)
		failed := 0
		for range 31 {
			h.clock.Advance(sweepGap)
			if h.Sweep(context.Background()) != nil {
				failed++
			}
		}
		require.Positive(t, failed)
		faults.FailBefore(0)
		h.sweep(t)
		require.Equal(t, StatusActive, h.status(t, "a"))
	})
}

func TestAHeartbeatRevives(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.RegisterAgent(as("a"), &openintentv1.RegisterAgentRequest{RoleId: pointer("x"), Name: pointer("A")})
		require.NoError(t, err)
		h.pass(t, 301*second)
		h.sweep(t)
		dead := h.get(t, "a")
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_DEAD, dead.GetStatus())

		_, err = h.beat("b")
		faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
		_, err = h.Heartbeat(as("b"), &openintentv1.HeartbeatRequest{AgentId: "a"})
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		without := asCaller(caller.Caller{Agent: "a", KeyID: "key-a", KeyAgents: []string{"a"}, KeyRoles: []string{"y"}})
		_, err = h.Heartbeat(without, &openintentv1.HeartbeatRequest{AgentId: "a"})
		faulttest.Require(t, err, fault.Denied, "ROLE_NOT_ALLOWED")
		require.Equal(t, dead, h.get(t, "a"))

		answer, err := h.beat("a")
		require.NoError(t, err)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, answer.GetAgentStatus())
		revived := h.get(t, "a")
		require.Equal(t, dead.GetVersion()+1, revived.GetVersion())
		require.Equal(t, dead.GetRegisteredAt(), revived.GetRegisteredAt())
		require.Equal(t, "x", revived.GetRoleId())
		require.Equal(t, "A", revived.GetName())
		require.Equal(t, "a", h.changes[len(h.changes)-1], "its watchers are told")

		_, err = h.setStatus("a", StatusDeregistered)
		require.NoError(t, err)
		_, err = h.beat("a")
		faulttest.Require(t, err, fault.Gone, "AGENT_GONE")
	})
}

func TestARevivedAgentThatWasDrainingDrains(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.put(t, "a", StatusDraining)
		h.pass(t, 301*second)
		h.sweep(t)
		require.Equal(t, StatusDead, h.status(t, "a"))
		_, err := h.beat("a")
		require.NoError(t, err)
		require.Equal(t, StatusDraining, h.status(t, "a"))
	})
}

// The time in which an agent may drain goes on while it counts as dead, and a heartbeat does not begin it anew.
func TestARevivedAgentIsDrainedAtItsLimit(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.RegisterAgent(as("a"), &openintentv1.RegisterAgentRequest{DrainTimeoutSeconds: pointer(int32(60))})
		require.NoError(t, err)
		for _, status := range []Status{StatusDraining, StatusDead} {
			_, err := h.setStatus("a", status)
			require.NoError(t, err)
			h.pass(t, 20*second)
		}
		_, err = h.beat("a")
		require.NoError(t, err)
		require.Equal(t, StatusDraining, h.status(t, "a"))
		h.pass(t, 20*second)
		h.sweep(t)
		require.Equal(t, StatusDeregistered, h.status(t, "a"))
	})
}

// While the clock was an hour ahead, agents were heard and one began to drain. Once it is right again, silence and the drain
// timeout count from then, and not from an hour later.
func TestSilenceAfterTheClockWasSetBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		start := h.clock.Advance(time.Hour)
		h.restart()
		for _, agent := range []string{"silent", "beating"} {
			h.register(t, agent)
		}
		_, err := h.RegisterAgent(as("draining"), &openintentv1.RegisterAgentRequest{DrainTimeoutSeconds: pointer(int32(60))})
		require.NoError(t, err)
		_, err = h.setStatus("draining", StatusDraining)
		require.NoError(t, err)
		h.clock.Set(start.Add(-time.Hour))
		h.sweep(t)
		_, err = h.beat("beating")
		require.NoError(t, err)
		require.Equal(t, h.clock.Now(), h.get(t, "beating").GetLastHeartbeatAt().AsTime())
		h.pass(t, 60*second)
		h.sweep(t)
		require.Equal(t, StatusDeregistered, h.status(t, "draining"))
		h.pass(t, 31*second)
		h.sweep(t)
		require.Equal(t, StatusUnhealthy, h.status(t, "silent"))
		require.Equal(t, StatusUnhealthy, h.status(t, "beating"))
	})
}

// A departure gets a time at or after that of everything it ends, even if the clock was set back in between.
func TestADepartureLiesAfterWhatItEnds(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		broken := errors.New("broken")
		ahead, failure := h.clock.Now().Add(time.Hour), broken
		h.OnDeparting(func(*database.Tx, string) (time.Time, error) { return ahead, failure })
		h.register(t, "a")
		_, err := h.setStatus("a", StatusDeregistered)
		require.ErrorIs(t, err, broken)
		require.Equal(t, StatusActive, h.status(t, "a"))
		failure = nil
		_, err = h.setStatus("a", StatusDeregistered)
		require.NoError(t, err)
		p, _ := h.presence(t, "a")
		require.Equal(t, ahead, p.DepartedAt)
	})
}
