package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Silence and draining end in their moments: an agent is silent once more than its time has passed, and drained once its time limit has, however
// lately it was heard.
func TestWhenSilenceAndDrainingEnd(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limit := int64(10)
	for name, test := range map[string]struct {
		agent Agent
		after time.Duration
		next  Status
	}{
		"active until its time":       {Agent{Status: StatusActive, LastHeartbeatAt: began}, 60 * time.Second, ""},
		"unhealthy after it":          {Agent{Status: StatusActive, LastHeartbeatAt: began}, 60*time.Second + 1, StatusUnhealthy},
		"unhealthy until its time":    {Agent{Status: StatusUnhealthy, LastHeartbeatAt: began}, 300 * time.Second, ""},
		"dead after it":               {Agent{Status: StatusUnhealthy, LastHeartbeatAt: began}, 300*time.Second + 1, StatusDead},
		"draining until its limit":    {Agent{Status: StatusDraining, DrainingSince: began, DrainTimeoutSeconds: &limit}, 10*time.Second - 1, ""},
		"drained at it, though heard": {Agent{Status: StatusDraining, DrainingSince: began, DrainTimeoutSeconds: &limit}, 10 * time.Second, StatusDeregistered},
	} {
		now := began.Add(test.after)
		if test.agent.LastHeartbeatAt.IsZero() {
			test.agent.LastHeartbeatAt = now
		}
		test.agent.Silence = Silence{Interval: 30, UnhealthyAfter: 60, DeadAfter: 300}
		next, _, due := test.agent.due(hearing{now: now})
		require.Equal(t, test.next, next, name)
		require.Equal(t, test.next != "", due, name)
	}
}
