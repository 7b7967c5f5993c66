package agentchannel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// withClock runs a test on each engine, against a server whose clock the test moves.
func withClock(t *testing.T, test func(t *testing.T, h *harness.Server, clock *databasetest.Clock)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := databasetest.NewClock()
		test(t, harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.Clock, cfg.StatusCadence = clock.Now, 10*time.Second
		}}), clock)
	})
}

// Who holds work and is silent for five cadences is presumed dead. Then somebody else takes the handoff.
func TestSilenceIsPresumedDeath(t *testing.T) {
	withClock(t, func(t *testing.T, h *harness.Server, clock *databasetest.Clock) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Watch")
		bob := ann.invited(t, h, id, `{"agent": "guest-bob"}`)
		seen := func(name string) object {
			return member(t, member(t, ann.does(t, 200, "GET", "/"+id, ""), "agents"), name)
		}
		ann.posts(t, id, "state", `{"handoff": {"holder": "guest-bob"}, "concepts": [{"owner": "carol"}, {"owner": "dan", "status": "done"}]}`)
		require.Equal(t, object{"holds_work": true, "presumed_dead": false}, seen("guest-bob"), "nobody has had time to be silent")
		bob.posts(t, id, "status", `{"note": "at work"}`)
		clock.Advance(49 * time.Second)
		require.Equal(t, false, seen("guest-bob")["presumed_dead"])
		clock.Advance(2 * time.Second)
		require.Equal(t, object{"holds_work": true, "presumed_dead": true}, seen("guest-bob"))
		require.Equal(t, true, seen("carol")["presumed_dead"], "who holds a concept is watched, too")
		require.NotContains(t, member(t, ann.does(t, 200, "GET", "/"+id, ""), "agents"), "dan")

		bob.posts(t, id, "comms", `"I am back"`)
		require.Equal(t, false, seen("guest-bob")["presumed_dead"], "any event is a sign of life")
		clock.Advance(time.Minute)
		ann.posts(t, id, "state", `{"handoff": "ann"}`)
		require.Equal(t, true, seen("ann")["holds_work"])
		require.NotContains(t, member(t, ann.does(t, 200, "GET", "/"+id, ""), "agents"), "guest-bob")
	})
}

// Whoever is silent is presumed dead, however often others' states name it; and who got work of late is not, whoever else had it before.
func TestOthersKeepNobodyAlive(t *testing.T) {
	withClock(t, func(t *testing.T, h *harness.Server, clock *databasetest.Clock) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Watch")
		dead := func(name string) any {
			return member(t, member(t, ann.does(t, 200, "GET", "/"+id, ""), "agents"), name)["presumed_dead"]
		}
		for range 8 {
			ann.posts(t, id, "state", `{"handoff": "carol", "concepts": [{"owner": "bob"}]}`)
			require.Equal(t, false, dead("bob"))
			clock.Advance(5 * time.Second)
		}
		clock.Advance(15 * time.Second)
		ann.posts(t, id, "state", `{"handoff": "dan", "concepts": [{"owner": "bob"}]}`)
		require.Equal(t, true, dead("bob"), "it has held work for 55 seconds, and said nothing")
		require.Equal(t, false, dead("dan"), "it has held work for a moment")
		clock.Advance(40 * time.Second)
		ann.posts(t, id, "state", `{"handoff": "dan"}`)
		require.Equal(t, false, dead("dan"))
		clock.Advance(15 * time.Second)
		require.Equal(t, true, dead("dan"))
	})
}

// A status is a heartbeat of its author's record, if there is one.
func TestAStatusIsAHeartbeat(t *testing.T) {
	withClock(t, func(t *testing.T, h *harness.Server, clock *databasetest.Clock) {
		ann := agent{h.As("ann")}
		_, err := ann.Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{AgentId: new("ann")})
		require.NoError(t, err)
		id := ann.open(t, "Watch")
		clock.Advance(5 * time.Second)
		ann.posts(t, id, "status", `{"note": "half\ndone"}`)
		record, err := ann.Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: "ann"})
		require.NoError(t, err)
		require.Equal(t, "half done", record.GetStatusNote())
		require.Equal(t, clock.Now().UTC(), record.GetLastHeartbeatAt().AsTime())
	})
}
