package leases

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

func TestACircleOfWaitersIsRefusedAndNamed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		a, b, c := h.hold(t, "ann", "A"), h.hold(t, "bob", "B"), h.hold(t, "eve", "C")
		ann := h.await(t, h.rooms, "ann", "B")
		bob := h.await(t, h.rooms, "bob", "C")
		req := h.acquiring("A")
		req.WaitSeconds = 600
		_, err := h.AcquireLease(as("eve"), req)
		refusal := requireReason(t, err, fault.Conflict, "LEASE_CIRCLE")
		require.Contains(t, refusal.Message,
			"eve waits for A, which is held by ann; ann waits for B, which is held by bob; bob waits for C, which is held by eve")
		require.NoError(t, h.free("eve", c.GetId()))
		h.granted(t, bob)
		require.NoError(t, h.free("bob", b.GetId()))
		h.granted(t, ann)
		require.NoError(t, h.free("ann", a.GetId()))
	})
}

// An agent that waits for a scope depends on the agents that asked for it earlier, and on the holder in this intent.
func TestCirclesFollowTheOrderOfAskingInTheIntent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		later := h.clock.Now().Add(time.Hour)
		h.hold(t, "ann", "A")
		h.hold(t, "bob", "B")
		h.hold(t, "dan", "D")
		h.waitAt(t, 1, "eve", "A", later)
		h.waitAt(t, 2, "eve", "D", later)
		h.waitAt(t, 3, "bob", "D", later)
		_, _, err := h.try(t, "ann", "B", 0)
		refusal := requireReason(t, err, fault.Conflict, "LEASE_CIRCLE")
		require.Contains(t, refusal.Message,
			"ann waits for B, which is held by bob; bob waits for D, which goes first to eve; eve waits for A, which is held by ann")
		h.elsewhere(t, func() { h.hold(t, "fay", "D") })
		_, place, err := h.try(t, "fay", "B", 0)
		require.NoError(t, err, "what fay holds in another intent is another scope")
		require.Positive(t, place)
	})
}

func TestCirclesAreFound(t *testing.T) {
	wait := func(agent, scope, holder string) blocked { return blocked{agent, scope, holder} }
	for name, row := range map[string]struct {
		waiting       []blocked
		agent, holder string
		length        int
	}{
		"nobody waits":                      {nil, "ann", "bob", 0},
		"a chain is no circle":              {[]blocked{wait("bob", "T", "eve")}, "ann", "bob", 0},
		"two hold what the other wants":     {[]blocked{wait("bob", "T", "ann")}, "ann", "bob", 2},
		"the holder waits for who waits":    {[]blocked{wait("bob", "T", "eve"), wait("eve", "U", "ann")}, "ann", "bob", 3},
		"who goes first waits for the last": {[]blocked{wait("eve", "S", "bob"), wait("eve", "T", "ann")}, "ann", "bob", 2},
		"two calls of one agent":            {[]blocked{wait("ann", "S", "bob")}, "ann", "bob", 0},
		"a wait that was admitted before":   {[]blocked{wait("ann", "T", "eve"), wait("eve", "U", "ann")}, "ann", "bob", 0},
		"a circle of others is not ours":    {[]blocked{wait("bob", "T", "eve"), wait("eve", "U", "bob")}, "ann", "bob", 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, circleThrough(row.agent, "S", row.waiting, &Lease{AgentID: row.holder}), row.length)
		})
	}
}
