package siege

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// TestDowntimeDoesNotKillAgents checks that a stop does not count as the agents' silence: they are still present
// after the first sweeps of the next server, and their heartbeats are accepted.
func TestDowntimeDoesNotKillAgents(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := sleepers{harness.StartProcess(t, harness.Options{URL: url})}
		agents := size(5, 500)
		for i := range agents {
			h.register(t, i, `{}`)
		}
		// This agent fell silent long before the stop, so the sweep has something to judge, and the test can see that
		// it did.
		h.register(t, agents, `{"heartbeat_config":{"interval_seconds":1,"unhealthy_after_seconds":2,"dead_after_seconds":4}}`)

		behindItsBack(t, h.Server, "UPDATE agents SET last_heartbeat_at = last_heartbeat_at - ?, registered_at = registered_at - ?",
			time.Hour.Microseconds(), time.Hour.Microseconds())
		begun := time.Now()
		require.Eventually(t, func() bool { return h.status(t, agents) == "dead" }, harness.Patience, 50*time.Millisecond,
			"the sweep judges nobody")
		figure(t, "an agent of 4 s until dead was dead %.1f s after the start", time.Since(begun).Seconds())
		present, heard := 0, 0
		for i := range agents {
			if h.status(t, i) == "active" {
				present++
			}
			if h.beat(t, i).Status == http.StatusOK {
				heard++
			}
		}
		figure(t, "after an hour's stop %d of %d agents are active, %d heartbeats were heard", present, agents, heard)
		require.Equal(t, agents, present)
		require.Equal(t, agents, heard)

		answer := h.beat(t, agents)
		require.Equal(t, http.StatusOK, answer.Status, "a heartbeat revives: %s", answer.Body)
		require.Equal(t, "active", h.status(t, agents))
		gone := h.As(sleeper(agents)).REST(t, http.MethodPatch, "/v1/agents/"+sleeper(agents)+"/status", `{"status":"deregistered"}`)
		require.Less(t, gone.Status, 300)
		require.Equal(t, http.StatusGone, h.beat(t, agents).Status, "one that left does not come back by a heartbeat")
	})
}

// sleepers are the agents, by number, of a server that is stopped for a while.
type sleepers struct{ *harness.Server }

func sleeper(i int) string { return fmt.Sprintf("worker-%d", i) }

func (h sleepers) register(t *testing.T, i int, body string) {
	t.Helper()
	answer := h.As(sleeper(i)).REST(t, http.MethodPost, "/v1/agents", body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
}

func (h sleepers) beat(t *testing.T, i int) harness.Answer {
	t.Helper()
	return h.As(sleeper(i)).REST(t, http.MethodPost, "/v1/agents/"+sleeper(i)+"/heartbeat", `{}`)
}

func (h sleepers) status(t *testing.T, i int) string {
	t.Helper()
	var agent struct{ Status string }
	h.As(sleeper(i)).REST(t, http.MethodGet, "/v1/agents/"+sleeper(i), "").Decode(t, &agent)
	return agent.Status
}
