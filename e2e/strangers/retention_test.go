package strangers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// made returns the id of what a caller makes.
func made(t *testing.T, c *harness.Caller, path, body string) string {
	t.Helper()
	answer := c.REST(t, "POST", path, body)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	var thing struct{ ID string }
	answer.Decode(t, &thing)
	return thing.ID
}

// A stranger with a key of its own fills an intent of its own. It harms nobody else, and finds out nothing about the intents of others.
func TestAStrangerFillsOnlyItsOwnIntent(t *testing.T) {
	full := refusal{status: 429, code: "RESOURCE_EXHAUSTED", reason: "INTENT_FULL", member: "quota_bytes"}
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.Start(t, harness.Options{
			URL: url, APIKeys: "k-alice=alice,k-mallory=mallory",
			Configure: func(cfg *server.Config) { cfg.QuotaIntentBytes, cfg.DefaultAccess = 50_000, "closed" },
		})
		alice, mallory := h.With("k-alice", ""), h.With("k-mallory", "")
		hers := made(t, alice, "/v1/intents", `{"title":"Alice's"}`)
		room := made(t, alice, "/v1/intents/"+hers+"/channels", `{"name":"room"}`)
		own := made(t, mallory, "/v1/intents", `{"title":"Mallory's"}`)
		den := made(t, mallory, "/v1/intents/"+own+"/channels", `{"name":"den"}`)
		message := fmt.Sprintf(`{"payload":{"text":"%s"}}`, strings.Repeat("x", 5000))
		event := fmt.Sprintf(`{"event_type":"comment","payload":{"text":"%s"}}`, strings.Repeat("x", 5000))
		first := made(t, mallory, "/v1/channels/"+den+"/messages", message)
		fill := func(c *harness.Caller, path, body string) (taken int) {
			for c.REST(t, "POST", path, body).Status == 201 {
				taken++
				require.Less(t, taken, 20)
			}
			return taken
		}
		fill(mallory, "/v1/channels/"+den+"/messages", message)
		full.check(t, mallory.REST(t, "POST", "/v1/channels/"+den+"/messages", message))
		full.check(t, mallory.REST(t, "POST", "/v1/intents/"+own+"/events", event))
		full.check(t, mallory.REST(t, "PATCH", "/v1/channels/"+den+"/messages/"+first, strings.Replace(message, "x", "y", 1)))

		_ = made(t, alice, "/v1/channels/"+room+"/messages", message)
		require.Positive(t, fill(alice, "/v1/intents/"+hers+"/events", event))
		full.check(t, alice.REST(t, "POST", "/v1/intents/"+hers+"/events", event))
		for path, body := range map[string]string{
			"/v1/channels/" + room + "/messages": message, "/v1/intents/" + hers + "/events": event,
		} {
			answer := mallory.REST(t, "POST", path, body)
			require.Contains(t, []int{403, 404}, answer.Status, "%s", answer.Body)
			require.NotContains(t, string(answer.Body), "quota", "a stranger does not learn how full an intent is")
		}
	})
}

// Old events go while the server runs; lists, verification and streams say so, and say nothing to strangers.
func TestRemovedEventsAreSaidOverREST(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := &ahead{}
		h := harness.Start(t, harness.Options{
			URL: url, APIKeys: "k-alice=alice,k-mallory=mallory",
			Configure: func(cfg *server.Config) {
				cfg.EventRetention, cfg.DefaultAccess, cfg.Clock = time.Hour, "closed", clock.now
			},
		})
		alice, mallory := h.With("k-alice", ""), h.With("k-mallory", "")
		id := made(t, alice, "/v1/intents", `{"title":"Long"}`)
		events := "/v1/intents/" + id + "/events"
		for range 4 {
			made(t, alice, events, `{"event_type":"comment"}`)
		}
		require.Empty(t, alice.REST(t, "GET", events, "").Header.Get("X-Events-Removed-Through"))
		clock.pass(2 * time.Hour)
		made(t, alice, events, `{"event_type":"comment"}`)
		var listed harness.Answer
		require.Eventually(t, func() bool {
			clock.pass(time.Minute) // the sweeper looks at all intents once a minute
			listed = alice.REST(t, "GET", events, "")
			return listed.Header.Get("X-Events-Removed-Through") == "5"
		}, harness.Patience, 10*time.Millisecond)
		var left []struct{ Sequence int64 }
		listed.Decode(t, &left)
		require.Len(t, left, 1)

		answer := alice.REST(t, "GET", events+"/verify", "")
		require.Equal(t, 200, answer.Status)
		var verified struct {
			Valid      bool
			Checkpoint struct {
				Sequence  int64
				EventHash string `json:"event_hash"`
			}
		}
		answer.Decode(t, &verified)
		require.True(t, verified.Valid, "%s", answer.Body)
		require.EqualValues(t, 5, verified.Checkpoint.Sequence)
		require.True(t, strings.HasPrefix(verified.Checkpoint.EventHash, "sha256:"))
		harness.RequireWhole(t, url)
		removed := refusal{status: 409, code: "FAILED_PRECONDITION", reason: "EVENTS_REMOVED", member: "removed_through"}
		removed.check(t, alice.REST(t, "GET", "/v1/subscribe/intents/"+id, "", "Last-Event-ID", "1"))

		for _, path := range []string{events, events + "/verify", "/v1/subscribe/intents/" + id} {
			answer := mallory.REST(t, "GET", path, "", "Last-Event-ID", "1")
			require.Contains(t, []int{403, 404}, answer.Status)
			require.Empty(t, answer.Header.Get("X-Events-Removed-Through"))
			require.NotContains(t, string(answer.Body), "removed")
		}
	})
}
