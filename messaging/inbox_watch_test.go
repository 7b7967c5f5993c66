package messaging

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/wake"
)

// waits returns how many calls wait for an agent's inbox.
func (h *house) waits(agent string) (count int) {
	all := h.messaging.inboxes
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if watch := all.of[agent]; watch != nil {
		for _, waits := range watch.queries {
			count += len(waits.calls)
		}
	}
	return count
}

// settled reports whether the pages of all that wait for an agent's inbox have been read since they joined.
func (h *house) settled(agent string) bool {
	all := h.messaging.inboxes
	all.mutex.Lock()
	defer all.mutex.Unlock()
	watch := all.of[agent]
	return watch != nil && !slices.ContainsFunc(slices.Collect(maps.Values(watch.queries)), func(w *inboxWaits) bool {
		return w.fresh || w.latest == nil
	})
}

// Calls that wait for one inbox share one listener, whatever they wait for, and nothing stays behind when they have ended.
func TestWaitsForOneInboxShareAWatch(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.reply(t, "b", channelID, h.asks(t, "a", channelID, "b").GetId(), "")
		ctx, cancel := context.WithCancel(as("b"))
		var waiting []<-chan waitedFor
		for n := range 20 {
			done := make(chan waitedFor, 1)
			go func() {
				page, err := h.tryInbox(ctx, &inboxRequest{AgentId: "b", WaitSeconds: ptr(600.0), Limit: ptr(int32(1 + n%3))})
				done <- waitedFor{page, err}
			}()
			waiting = append(waiting, done)
		}
		eventually(t, func() bool { return h.waits("b") == 20 && h.settled("b") }, "not all wait")
		require.Len(t, h.messaging.inboxes.of, 1)
		require.Len(t, h.messaging.inboxes.of["b"].queries, 3)
		asked := h.asks(t, "a", channelID, "b")
		for _, done := range waiting {
			require.Equal(t, []string{asked.GetId()}, received(t, done))
		}
		h.reply(t, "b", channelID, asked.GetId(), "")
		for range 2 {
			done := h.awaitInbox(ctx, t, "b")
			eventually(t, func() bool { return h.waits("b") == 1 }, "it does not wait")
			defer func() { <-done }()
			cancel()
			eventually(t, func() bool { return h.waits("b") == 0 }, "it waits on")
			ctx, cancel = context.WithCancel(as("b"))
		}
		cancel()
		require.Empty(t, h.messaging.inboxes.of)
		h.messaging.inboxes.running.Wait()
		require.False(t, h.listensFor(wake.AgentTopic("b")))
		require.False(t, h.listensFor(wake.FeedTopic(h.key(t, channelID).IntentNo)))
	})
}

// A further wait for an inbox takes at most 2 KB beside its goroutine, however many intents reach the agent.
func TestAFurtherWaitForAnInboxTakesLittle(t *testing.T) {
	h := newHouse(t, database.SQLite)
	for range 3000 {
		_, err := h.intents.CreateIntent(as("b"), &openintentv1.CreateIntentRequest{Title: "One that reaches b"})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(as("b"))
	defer cancel()
	var ended sync.WaitGroup
	wait := func(count int) {
		before := h.waits("b")
		for range count {
			ended.Go(func() { _, _ = h.tryInbox(ctx, &inboxRequest{AgentId: "b", WaitSeconds: ptr(600.0)}) })
		}
		eventually(t, func() bool { return h.waits("b") == before+count && h.settled("b") }, "not all wait")
	}
	const further = 200
	wait(1)
	before := heapAfterGC()
	wait(further)
	each := (int64(heapAfterGC()) - int64(before)) / further
	t.Logf("a further wait takes %d bytes", each)
	require.LessOrEqual(t, each, int64(2048))
	cancel()
	ended.Wait()
}

// heapAfterGC returns the bytes that are in use.
func heapAfterGC() uint64 {
	var stats runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
