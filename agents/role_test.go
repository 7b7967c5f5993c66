package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// since returns when an agent took its role.
func (h *house) since(t *testing.T, agent string) time.Time {
	t.Helper()
	p, found := h.presence(t, agent)
	require.True(t, found)
	return p.RoleSince
}

func TestRegisteringAgainKeepsSinceWhenARoleIsHeld(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		take := func(agent, role string) {
			_, err := h.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{RoleId: &role})
			require.NoError(t, err)
		}
		for _, status := range []Status{StatusActive, StatusDraining, StatusUnhealthy, StatusDead, StatusDeregistered} {
			agent := "agent-" + string(status)
			h.put(t, agent, status)
			require.Zero(t, h.since(t, agent), "it holds no role")
			take(agent, "x")
			taken := h.clock.Now()
			require.Equal(t, taken, h.since(t, agent), status)
			h.clock.Advance(second)
			_, err := h.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{Name: pointer("n")})
			require.NoError(t, err)
			require.Equal(t, taken, h.since(t, agent), "an agent that names no role keeps its role")
			for _, step := range map[Status][]Status{
				StatusDraining: {StatusDraining}, StatusUnhealthy: {StatusUnhealthy}, StatusDead: {StatusUnhealthy, StatusDead},
				StatusDeregistered: {StatusDeregistered},
			}[status] {
				_, err := h.setStatus(agent, step)
				require.NoError(t, err)
			}
			take(agent, "x")
			if status == StatusDeregistered {
				taken = h.clock.Now()
			}
			require.Equal(t, taken, h.since(t, agent), "the same role again, from %s", status)
			h.clock.Advance(second)
			take(agent, "y")
			require.Equal(t, h.clock.Now(), h.since(t, agent), "another role")
			h.clock.Advance(second)
			take(agent, "")
			require.Zero(t, h.since(t, agent))
			take(agent, "y")
			require.Equal(t, h.clock.Now(), h.since(t, agent), "a role that was given up")
		}
	})
}

// In an intent ahead of the clock, an agent holds a role from the intent's time on. If there are too many such intents, it
// holds the role everywhere from the latest of their times on.
func TestARoleIsHeldFromWhereAnIntentsTimeIs(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var ahead map[int64]time.Time
		h.OnTakingRole(func(_ *database.Tx, roleID string, after time.Time, limit int) (map[int64]time.Time, error) {
			require.Equal(t, "x", roleID)
			require.Equal(t, h.clock.Now(), after)
			require.Equal(t, maxAhead+1, limit)
			return ahead, nil
		})
		now := h.clock.Now()
		take := func(agent string) Presence {
			_, err := h.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{RoleId: pointer("x")})
			require.NoError(t, err)
			p, _ := h.presence(t, agent)
			return p
		}
		ahead = map[int64]time.Time{7: now.Add(time.Hour)}
		few := take("few")
		require.Equal(t, now, few.RoleSinceIn(1))
		require.Equal(t, now.Add(time.Hour), few.RoleSinceIn(7))
		require.Equal(t, now.Add(time.Hour), take("few").RoleSinceIn(7), "registering again keeps both")

		for no := range int64(maxAhead + 1) {
			ahead[no] = now.Add(time.Duration(no) * time.Second)
		}
		ahead[maxAhead] = now.Add(time.Hour)
		many := take("many")
		require.Equal(t, now.Add(time.Hour), many.RoleSinceIn(1), "more intents are ahead of the clock than can be noted")

		require.Equal(t, endOfTime, Presence{roleAhead: "?"}.RoleSinceIn(1))
	})
}
