package strangers

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/caller"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// A lone caller's reads hang, 100 at a time: lists, threads, inboxes and single messages. Meanwhile others send, agents send heartbeats and
// the server is ready. Another key's reads come in turn, although they came last.
func TestReadsThatHangHoldNobodyElseUp(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var closed, hanging atomic.Int64
		release := make(chan struct{})
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.Hooks.Statement = func(ctx context.Context, sql string) func() {
				if c, _ := caller.From(ctx); closed.Load() > 0 && c.Agent == harness.BoundAgent && strings.HasPrefix(sql, "BEGIN") {
					hanging.Add(1)
					<-release
					hanging.Add(-1)
				}
				return nil
			}
		}})
		w := newWorld(t, h)
		lone := w.With(harness.BoundKey, "")
		reads := []string{
			w.fill("/v1/channels/{room}/messages?kind=nope"), w.fill("/v1/channels/{room}/messages/{broadcast}/thread"),
			w.fill("/v1/channels/{room}/messages/{broadcast}"), "/v1/agents/" + harness.BoundAgent + "/inbox?include=attention",
		}
		for _, path := range reads {
			require.Equal(t, 200, lone.REST(t, "GET", path, "").Status, path)
		}
		closed.Store(1)
		const flood = 100
		var flooding sync.WaitGroup
		for n := range flood {
			flooding.Go(func() {
				request, err := lone.Request(context.WithoutCancel(t.Context()), "GET", reads[n%len(reads)], "")
				if err != nil {
					t.Error(err)
					return
				}
				response, err := h.HTTP.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
			})
		}
		defer flooding.Wait()
		defer close(release)
		require.Eventually(t, func() bool { return hanging.Load()+w.readsWaiting(t) >= flood }, harness.Patience, 10*time.Millisecond)

		require.Equal(t, 201, w.do(t, "alice", "POST", "/v1/channels/{room}/messages", `{"payload":{}}`).Status)
		require.Equal(t, 201, w.do(t, "alice", "POST", "/v1/intents/{intent}/channels/room/messages", `{"payload":{}}`).Status)
		require.Equal(t, 200, w.do(t, "bob", "POST", "/v1/agents/bob/heartbeat", `{}`).Status)
		require.Equal(t, 200, w.do(t, "bob", "GET", "/readyz", "").Status)

		waiting := w.readsWaiting(t)
		answered := make(chan int, 1)
		go func() { answered <- w.do(t, "bob", "GET", "/v1/agents/bob/inbox", "").Status }()
		require.Eventually(t, func() bool { // on PostgreSQL a key has half of the places, so this one need not wait
			return len(answered) > 0 || w.readsWaiting(t) > waiting
		}, harness.Patience, 10*time.Millisecond)
		for released := 0; ; released++ {
			require.Less(t, released, flood/2, "the reads of the flood came first")
			select {
			case status := <-answered:
				require.Equal(t, 200, status)
				return
			case release <- struct{}{}:
			}
		}
	})
}

// readsWaiting is how many reads wait for their turn, as the server says.
func (w *world) readsWaiting(t *testing.T) int64 {
	t.Helper()
	for line := range bytes.Lines(w.do(t, "bob", "GET", "/metrics", "").Body) {
		if value, ok := strings.CutPrefix(string(line), "openintent_reads_waiting "); ok {
			waiting, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			require.NoError(t, err)
			return waiting
		}
	}
	t.Fatal("the metrics do not say how many reads wait")
	return 0
}
