package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// Role is the role of all agents that Register registers.
const Role = "worker"

// Register registers an agent, or lets a dead one live again. It promises a heartbeat so seldom that it need not send any.
func (r *Replica) Register(t *testing.T, agent string) {
	t.Helper()
	r.register(t, agent, time.Hour)
}

// FallSilent makes an agent promise a heartbeat every second, of which it sends none.
func (r *Replica) FallSilent(t *testing.T, agent string) {
	t.Helper()
	r.register(t, agent, time.Second)
}

func (r *Replica) register(t *testing.T, agent string, every time.Duration) {
	t.Helper()
	role, interval := Role, int32(every/time.Second)
	unhealthy, dead := 2*interval, 4*interval
	_, err := r.Agents.UpsertAgent(r.As(agent), &openintentv1.RegisterAgentRequest{
		AgentId: &agent, RoleId: &role, HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: &interval, UnhealthyAfterSeconds: &unhealthy, DeadAfterSeconds: &dead,
		},
	})
	require.NoError(t, err)
}

// Silence is how much time PassSilence lets pass.
const Silence = 5 * time.Second

// PassSilence lets so much time pass in the servers' hearing that those who fell silent count as dead, which it checks.
func PassSilence(t *testing.T, replicas []*Replica, silent ...string) {
	t.Helper()
	hearing := replicas[0]
	require.NoError(t, hearing.Agents.Sweep(hearing.Life))
	for _, r := range replicas {
		r.Clock.Advance(Silence)
	}
	require.NoError(t, hearing.Agents.Sweep(hearing.Life))
	for _, agent := range silent {
		found, err := hearing.Agents.GetAgent(hearing.As(agent), &openintentv1.GetAgentRequest{AgentId: agent})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_DEAD, found.GetStatus())
	}
}
