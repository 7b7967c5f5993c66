package agents

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// house is a service on a fresh database with a clock that the test moves.
type house struct {
	*Service
	clock *databasetest.Clock

	mutex   sync.Mutex
	changes []string // the agents that OnChanged reported
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { run(t, newHouse(t, url)) })
}

func newHouse(t *testing.T, url string) *house {
	t.Helper()
	clock := databasetest.NewClock()
	h := &house{Service: New(Config{DB: databasetest.Open(t, database.Config{URL: url, Clock: clock.Now})}), clock: clock}
	h.OnChanged(func(agentID string) {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.changes = append(h.changes, agentID)
	})
	return h
}

// as returns the context of a call by an agent with a key that is bound to this agent alone.
func as(agent string) context.Context {
	return asCaller(caller.Caller{Agent: agent, KeyID: "key-" + agent, KeyAgents: []string{agent}, KeyRoles: []string{caller.AnyRole}})
}

func asOperator() context.Context {
	return asCaller(caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key-operator"})
}

func asCaller(c caller.Caller) context.Context { return caller.NewContext(context.Background(), c) }

func registering(agent string) *openintentv1.RegisterAgentRequest {
	return &openintentv1.RegisterAgentRequest{AgentId: &agent}
}

// register registers an agent with the default thresholds of silence.
func (h *house) register(t *testing.T, agent string) *openintentv1.Agent {
	t.Helper()
	registered, err := h.RegisterAgent(as(agent), registering(agent))
	require.NoError(t, err)
	return registered
}

func (h *house) get(t *testing.T, agent string) *openintentv1.Agent {
	t.Helper()
	found, err := h.GetAgent(asOperator(), &openintentv1.GetAgentRequest{AgentId: agent})
	require.NoError(t, err)
	return found
}

func (h *house) status(t *testing.T, agent string) Status {
	t.Helper()
	return statusOf(h.get(t, agent).GetStatus())
}

// setStatus requests a status in the agent's own name.
func (h *house) setStatus(agent string, status Status) (*openintentv1.Agent, error) {
	return h.UpdateAgentStatus(as(agent), &openintentv1.UpdateAgentStatusRequest{
		AgentId: agent, Status: statusMessages[status],
	})
}

// put brings a newly registered agent into a status, by legal steps.
func (h *house) put(t *testing.T, agent string, status Status) {
	t.Helper()
	h.register(t, agent)
	steps := map[Status][]Status{
		StatusActive:       nil,
		StatusDraining:     {StatusDraining},
		StatusUnhealthy:    {StatusUnhealthy},
		StatusDead:         {StatusUnhealthy, StatusDead},
		StatusDeregistered: {StatusDeregistered},
	}
	for _, step := range steps[status] {
		_, err := h.setStatus(agent, step)
		require.NoError(t, err)
	}
	require.Equal(t, status, h.status(t, agent))
}

func (h *house) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Sweep(context.Background()))
}

// pass lets time pass while the server sweeps as it goes.
func (h *house) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for ; d > sweepGap; d -= sweepGap {
		h.clock.Advance(sweepGap)
		h.sweep(t)
	}
	h.clock.Advance(d)
}

func (h *house) presence(t *testing.T, agent string) (p Presence, found bool) {
	t.Helper()
	err := h.db.Read(context.Background(), func(tx *database.Tx) error {
		presences, err := LoadPresences(tx, []string{agent, "nobody"})
		p, found = presences[agent]
		return err
	})
	require.NoError(t, err)
	return p, found
}

func pointer[T any](value T) *T { return &value }

const second = time.Second
