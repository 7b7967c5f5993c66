package accounts

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// ahead is a clock that a test puts forward.
type ahead struct{ by atomic.Int64 }

func (a *ahead) now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

func (a *ahead) pass(time time.Duration) { a.by.Add(int64(time)) }

// kept is one kind of things that a key holds.
type kept struct {
	path string
	// body makes the nth thing.
	body func(n int) string
	// free takes one of them away.
	free func() harness.Answer
}

// What a key may hold is bounded by kind. Whoever made a thing is charged for it, until it ends or is removed.
func TestWhatAKeyHoldsIsBounded(t *testing.T) {
	const bound = 3
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := &ahead{}
		h := harness.Start(t, harness.Options{URL: url, APIKeys: "free;roles=*,k-mallory=mallory,k-bob=bob", Configure: func(cfg *server.Config) {
			cfg.MaxIntentsPerKey, cfg.MaxChannelsPerKey, cfg.MaxTasksPerKey = bound, bound, bound
			cfg.MaxSubscriptionsPerKey, cfg.MaxDocumentsPerKey, cfg.Clock = bound, bound, clock.now
		}})
		p := newPlace(t, h)
		mallory, bob := h.With("k-mallory", ""), h.With("k-bob", "")
		made := make(map[string][]string)
		name := func(n int) string { return fmt.Sprintf(`{"name":"mallory-%d"}`, n) }
		room := p.made("alice", p.onIntent("/channels"), `{"name":"documents"}`)
		kinds := map[string]kept{
			"intents": {"/v1/intents", func(int) string { return `{"title":"Mine","status":"active"}` }, func() harness.Answer {
				return mallory.REST(t, "POST", "/v1/intents/"+made["intents"][0]+"/status", `{"status":"abandoned","expected_version":1}`)
			}},
			"channels": {p.onIntent("/channels"), name, func() harness.Answer {
				return mallory.REST(t, "DELETE", "/v1/channels/"+made["channels"][0], "")
			}},
			"tasks": {p.onIntent("/tasks"), name, func() harness.Answer {
				task := "/v1/tasks/" + made["tasks"][0]
				require.Equal(t, 200, mallory.REST(t, "POST", task+"/claim", "{}").Status)
				return mallory.REST(t, "POST", task+"/complete", "{}")
			}},
			"subscriptions": {"/v1/subscriptions", func(int) string { return `{}` }, func() harness.Answer {
				return mallory.REST(t, "DELETE", "/v1/subscriptions/"+made["subscriptions"][0], "")
			}},
			"documents": {"/v1/channels/" + room + "/messages", func(n int) string {
				return fmt.Sprintf(`{"message_type":"notify","document":true,"kind":"kind-%d","payload":{"text":"x"}}`, n)
			}, func() harness.Answer { return p.by("alice", "DELETE", "/v1/channels/"+room, "") }},
		}
		full := func(c *harness.Caller, kind, path, body string) {
			t.Helper()
			answer := c.REST(t, "POST", path, body)
			require.Equal(t, 429, answer.Status, "%s: %s", kind, answer.Body)
			var problem map[string]any
			answer.Decode(t, &problem)
			require.Equal(t, "STOCK_FULL", problem["reason"])
			require.Equal(t, kind, problem["kind"])
			require.Equal(t, fmt.Sprint(bound), problem["max_"+kind+"_per_key"])
		}
		for kind, k := range kinds {
			for n := range bound {
				answer := mallory.REST(t, "POST", k.path, k.body(n))
				require.Equal(t, 201, answer.Status, "%s: %s", kind, answer.Body)
				var thing struct{ ID string }
				answer.Decode(t, &thing)
				made[kind] = append(made[kind], thing.ID)
			}
			full(mallory, kind, k.path, k.body(bound))
			require.Equal(t, 201, bob.REST(t, "POST", k.path, k.body(bound+1)).Status, "another key has room of its own: %s", kind)
		}
		full(mallory, "channels", p.onIntent("/channels/by-name/messages"), plain)
		require.Equal(t, 201, mallory.REST(t, "POST", kinds["documents"].path, kinds["documents"].body(0)).Status, "new contents take no room")

		for kind, k := range kinds {
			answer := k.free()
			require.Less(t, answer.Status, 300, "%s: %s", kind, answer.Body)
		}
		var other struct{ ID string }
		bob.REST(t, "POST", p.onIntent("/channels"), `{"name":"more"}`).Decode(t, &other) // alice may count as full: a count may come before its note
		for kind, k := range kinds {
			path := k.path
			if kind == "documents" {
				path = "/v1/channels/" + other.ID + "/messages"
			}
			require.Eventually(t, func() bool {
				clock.pass(10 * time.Second)
				return mallory.REST(t, "POST", path, k.body(bound+2)).Status == 201
			}, harness.Patience, 20*time.Millisecond, "what is gone makes no room: %s", kind)
		}
		harness.RequireWhole(t, url)
	})
}

// Many calls at once pass the bound, or stay below it, by no more than there are transactions under way: a count may come between a commit
// and the note of it.
func TestWhatAKeyHoldsIsBoundedUnderConcurrency(t *testing.T) {
	const bound, connections, calls = 10, 8, 100
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.MaxIntentsPerKey = bound }})
		var made atomic.Int64
		var calling sync.WaitGroup
		caller := h.As("mallory")
		for range calls {
			calling.Go(func() {
				if caller.REST(t, "POST", "/v1/intents", `{"title":"Mine"}`).Status == 201 {
					made.Add(1)
				}
			})
		}
		calling.Wait()
		require.GreaterOrEqual(t, made.Load(), int64(bound-connections))
		require.LessOrEqual(t, made.Load(), int64(bound+connections))
	})
}
