package agentdata

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// crowd are agents that call two servers all the time.
type crowd struct {
	*world
	servers []*harness.Server
	calling sync.WaitGroup
	stopped atomic.Bool
	calls   atomic.Int64
}

// repeat makes calls, in turn, until the crowd stops. {n} stands for a number that no other call has. A call may be refused, but never
// fail; on a busy machine one replica may keep the other waiting for too long.
func (c *crowd) repeat(agent string, calls ...[3]string) {
	var pairs []string
	for name, id := range c.IDs {
		pairs = append(pairs, "{"+name+"}", id)
	}
	filled := strings.NewReplacer(pairs...)
	c.calling.Go(func() {
		for n := 0; !c.stopped.Load(); n++ {
			call := calls[n%len(calls)]
			numbered := strings.NewReplacer("{n}", fmt.Sprint(c.calls.Add(1)))
			path, body := numbered.Replace(filled.Replace(call[1])), numbered.Replace(filled.Replace(call[2]))
			answer := c.servers[n%len(c.servers)].As(agent).REST(c.t, call[0], "/v1/"+path, body)
			if answer.Status >= http.StatusInternalServerError && !strings.Contains(string(answer.Body), "INTENT_BUSY") {
				c.t.Errorf("%s %s: %d %s", call[0], call[1], answer.Status, answer.Body)
				return
			}
		}
	})
}

// An agent is erased, by two erasures at once, while others send to it, answer it, read and search what it said, and act on that. Nothing
// of what was erased comes back, nothing fails, and the database is whole. On SQLite the server has to be stopped.
func TestAnErasureWhileOthersGoOn(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	servers := []*harness.Server{harness.StartProcess(t, harness.Options{URL: url}), harness.StartProcess(t, harness.Options{URL: url})}
	w := fill(t, servers[0])
	for n := range 150 {
		w.Call("dora", "POST", "channels/{talk}/messages", fmt.Sprintf(`{"message_type": "request", "to": "alice", "payload": {"text": "erasedmany %d"}}`, n))
	}
	w.settle()
	w.depart()
	c := &crowd{world: w, servers: servers}
	sends := [3]string{"POST", "channels/{talk}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirs {n}"}}`}
	c.repeat("alice", sends, [3]string{"POST", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "theirs {n}"}}`})
	c.repeat("bob", sends, [3]string{"GET", "channels/{talk}/messages?limit=100", ""})
	c.repeat("dora", [3]string{"POST", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "payload": {"text": "later {n}"}}`})
	c.repeat("alice", [3]string{"POST", "channels/{talk}/messages/{open}/reply", `{"payload": {"text": "theirs {n}"}}`},
		[3]string{"PUT", "channels/{talk}/messages/{first}/reactions/agree", `{"note": "theirs {n}"}`},
		[3]string{"POST", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "parent_id": "{first}", "payload": {"text": "theirs {n}"}}`},
		[3]string{"PATCH", "channels/{talk}/messages/{keyed}", `{"status": "read"}`})
	c.repeat("alice", [3]string{"POST", "channels/{small}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "theirs {n}"}}`},
		[3]string{"POST", "intents/{intent}/channels/passing-{n}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirs {n}"}}`},
		[3]string{"POST", "subscriptions", `{"name": "passing-{n}", "intent_id": "{intent}"}`})
	var reads [][3]string
	for _, path := range append(shown, "messages/search?q=erasedmany") {
		reads = append(reads, [3]string{"GET", path, ""})
	}
	c.repeat("alice", reads...)
	end := func() {
		c.stopped.Store(true)
		c.calling.Wait()
	}
	defer end()

	require.Eventually(t, func() bool { return c.calls.Load() > 100 }, harness.Patience, checkEvery)
	var erasures sync.WaitGroup
	for range 2 {
		erasures.Go(func() {
			out, complaints, err := follow(t, "erase", url, "AGENT=dora")
			assert.NoError(t, err, complaints)
			assert.Contains(t, out, "stays")
		})
	}
	erasures.Wait()
	after := c.calls.Load()
	require.Eventually(t, func() bool { return c.calls.Load() > after+50 }, harness.Patience, checkEvery)
	end()
	require.Empty(t, words(t, url, "erased"))
	harness.RequireWhole(t, url)
	for _, server := range servers {
		require.NotContains(t, server.Log(), `"level":"ERROR"`)
		here := &harness.Making{Server: server, TB: t, IDs: w.IDs}
		for _, path := range shown {
			assert.NotContains(t, string(here.Call("alice", "GET", path, "").Body), "erased", path)
		}
		assert.NotContains(t, string(here.Call("alice", "GET", "messages/search?q=erasedmany", "").Body), "msg_")
	}
}
