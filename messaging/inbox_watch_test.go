package messaging

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
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

// beginsToWait begins a call that waits for b's inbox.
func (h *house) beginsToWait(ctx context.Context, req *inboxRequest) <-chan waitedFor {
	req.AgentId, req.WaitSeconds = "b", ptr(600.0)
	done := make(chan waitedFor, 1)
	go func() {
		page, err := h.tryInbox(ctx, req)
		done <- waitedFor{page, err}
	}()
	return done
}

// Calls that wait for different pages of one inbox get each its own.
func TestWaitsForOneInboxGetTheirOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID, other := h.open(t), h.open(t)
		wait := func(ctx context.Context, req *inboxRequest, others int) <-chan waitedFor {
			done := h.beginsToWait(ctx, req)
			eventually(t, func() bool { return h.waits("b") == others+1 && h.settled("b") }, "it does not wait")
			return done
		}
		narrow := wait(caller.NewContext(context.Background(), caller.Caller{
			Agent: "b", KeyID: "narrow", KeyAgents: []string{"b"}, Scope: caller.NewScope(nil, []string{other}),
		}), &inboxRequest{}, 0)
		must := wait(as("b"), &inboxRequest{Policy: []openintentv1.ResponsePolicy{mustRespond}}, 1)
		plain := wait(as("b"), &inboxRequest{}, 2)
		judged := wait(as("b"), &inboxRequest{Include: []string{"attention"}}, 3)
		told := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")}).GetId()
		for done, attention := range map[<-chan waitedFor]bool{plain: false, judged: true} {
			eventually(t, func() bool { return len(done) > 0 }, "the wait has not ended")
			page := (<-done).page
			require.Equal(t, []string{told}, idsIn(page))
			require.Equal(t, attention, page.GetItems()[0].GetAttention() != nil)
		}
		h.clock.Advance(time.Second)
		asked := h.asks(t, "a", other, "b").GetId()
		require.Equal(t, []string{asked}, received(t, narrow), "its key is for one channel")
		require.Equal(t, []string{asked}, received(t, must))

		since := h.in(0)
		require.Equal(t, []string{told, asked}, h.handOver(t, "b", told, asked))
		unhanded := wait(as("b"), &inboxRequest{Unhanded: true}, 0)
		require.Equal(t, []string{told, asked}, received(t, h.beginsToWait(as("b"), &inboxRequest{})))
		require.Equal(t, []string{told, asked}, received(t, h.beginsToWait(as("b"), &inboxRequest{Unhanded: true, HandedSince: since})))
		further := h.asks(t, "a", other, "b").GetId()
		require.Equal(t, []string{further}, received(t, unhanded))
	})
}

// A wait ends when a message is to be handed over again, although nothing is stored then that could wake the call.
func TestAWaitGetsWhatIsHandedOverAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b").GetId()
		h.handOver(t, "b", asked)
		done := h.beginsToWait(as("b"), &inboxRequest{Unhanded: true})
		eventually(t, func() bool { return h.waits("b") == 1 && h.settled("b") }, "it does not wait")
		h.clock.Advance(handOverAgain + time.Second)
		require.Equal(t, []string{asked}, received(t, done))
	}, restless)
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
