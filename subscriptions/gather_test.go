package subscriptions

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// Two replicas that gather for one subscription simultaneously number everything once and in the order of each intent's log.
func TestReplicasGatherTogether(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	channelIDs := []string{h.open(t, h.intent(t), "a"), h.open(t, h.intent(t), "b")}
	sub := h.subscribe(t, "bob", &createInput{})
	const count = 300
	var sending sync.WaitGroup
	for _, channel := range channelIDs {
		sending.Go(func() {
			for i := range count {
				h.sendAside(t, "ann", channel, "bob", strconv.Itoa(i))
			}
		})
	}
	var fetching sync.WaitGroup
	sent := make(chan struct{})
	received := make([][]*wireDelivery, 4)
	for i, r := range []rooms{h.rooms, other, h.rooms, other} {
		fetching.Go(func() {
			for last := false; ; {
				found, err := r.tryFetch(as("bob"), sub, 1000)
				if !assert.NoError(t, err) {
					return
				}
				received[i] = append(received[i], found...)
				if len(found) == 0 && last {
					return
				}
				select {
				case <-sent:
					last = true
				default:
				}
			}
		})
	}
	sending.Wait()
	close(sent)
	fetching.Wait()

	seen := make(map[int64]*wireDelivery)
	for _, found := range received {
		for _, d := range found {
			require.Nil(t, seen[d.GetNumber()], "fetches share what is due")
			seen[d.GetNumber()] = d
		}
	}
	require.Len(t, seen, 2*count)
	next := make(map[string]int)
	for number := int64(1); number <= 2*count; number++ {
		require.NotNil(t, seen[number], "numbers have no gaps")
		m := seen[number].GetMessage()
		require.Equal(t, strconv.Itoa(next[m.GetChannelId()]), textOf(m))
		next[m.GetChannelId()]++
	}
}

// If any commit of a fetch fails, or is stored without an answer, nothing is lost or numbered twice. The next fetch, or the
// fetch after the time for acknowledging, returns everything.
func TestACrashLosesNothing(t *testing.T) {
	for _, stored := range []bool{false, true} {
		for commit := 1; commit <= 2; commit++ { // gathering, offering
			t.Run(strconv.Itoa(commit)+strconv.FormatBool(stored), func(t *testing.T) {
				eachEngine(t, func(t *testing.T, h *house) {
					channel := h.open(t, h.intent(t), "talk")
					sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
					h.send(t, "ann", channel, "bob", "one")
					h.send(t, "ann", channel, "bob", "two")
					if stored {
						h.faults.set(nil, nth(commit))
					} else {
						h.faults.set(nth(commit), nil)
					}
					_, err := h.tryFetch(as("bob"), sub, 10)
					require.Error(t, err)
					require.True(t, database.IsUnavailable(err), "%v", err)
					h.faults.set(nil, nil)
					if stored && commit == 2 {
						require.Empty(t, h.fetch(t, sub), "they may be on their way")
						h.clock.Advance(time.Minute)
					}
					require.Equal(t, []string{"1:one", "2:two"}, described(h.fetch(t, sub)))
					require.Equal(t, int64(2), h.get(t, sub).GetLastNumber())
				})
			})
		}
	}
}

// An acknowledgement or redrive whose outcome is unknown may be repeated.
func TestRepeatsAfterUnknownOutcomesAreHarmless(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, sub)
		h.faults.set(nil, nth(1))
		_, err := h.tryAcknowledge(sub, 1)
		require.Error(t, err)
		h.faults.set(nil, nil)
		require.Equal(t, int64(1), h.acknowledge(t, sub, 1).GetAcknowledgedThrough())

		h.faults.set(nil, nth(1))
		_, err = h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
		require.Error(t, err)
		h.faults.set(nil, nil)
		_, err = h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.NotFound, "SUBSCRIPTION_NOT_FOUND")
		h.sweep(t)
		require.Zero(t, h.rows(t, "subscriptions", "1 = 1"))
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))
		require.Zero(t, h.rows(t, "subscription_positions", "1 = 1"))
	})
}

// If an intent has many messages that are not for the subscriber, the position is not written for each of them, and yet nothing
// is read again and again.
func TestWhatIsNotForTheSubscriberCostsNoWrites(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		commits := 0
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{})
		h.send(t, "ann", channel, "bob", "one")
		require.Len(t, h.fetch(t, sub), 1)
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		r := h.looking(t, found)
		g := r.gatherer
		gather := func() *delivering.Progress {
			seen, err := r.refresh(as("bob"))
			require.NoError(t, err)
			_, err = g.Gather(as("bob"), seen)
			require.NoError(t, err)
			return seen
		}
		for range 10 {
			h.send(t, "ann", channel, "eve", "x")
		}
		h.faults.set(func() error { commits++; return nil }, nil)
		before := commits
		require.Len(t, gather().Backlogs, 1)
		require.Empty(t, gather().Backlogs)
		require.Equal(t, before, commits)
		h.faults.set(nil, nil)
		for range record.Unwritten {
			h.send(t, "ann", channel, "eve", "x")
		}
		gather()
		require.Empty(t, g.Scanned, "now it is stored")
		h.send(t, "ann", channel, "bob", "two")
		require.Equal(t, []string{"2:two"}, described(h.fetch(t, sub)))
	})
}

// A named subscription to everything that reaches an agent also covers intents that begin to reach the agent later.
func TestWideSubscriptionsReachNewIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		known, later := h.open(t, h.intent(t), "known"), h.open(t, h.intent(t), "later")
		h.send(t, "ann", known, "bob", "before")
		h.send(t, "ann", later, "*", "before, to everyone")
		h.clock.Advance(afterCommits)
		sub := h.subscribe(t, "bob", &createInput{})
		h.clock.Advance(afterCommits)
		require.Empty(t, h.fetch(t, sub))
		h.send(t, "ann", later, "bob", "first")
		h.send(t, "ann", known, "bob", "second")
		texts := map[string]bool{}
		for _, d := range h.fetch(t, sub) {
			texts[textOf(d.GetMessage())] = true
		}
		require.Equal(t, map[string]bool{"first": true, "second": true}, texts)
	})
}

func TestFiltersNarrowWhatIsNumbered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		events := h.subscribe(t, "bob", &createInput{IntentId: &intent, EventTypes: []string{"agent_assigned"}})
		requests := h.subscribe(t, "bob", &createInput{IntentId: &intent, MessageType: ptr(request)})
		h.asks(t, "ann", channel, "bob", "question")
		h.send(t, "ann", channel, "bob", "chat")
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: intent, AgentId: "bob"})
		require.NoError(t, err)
		require.Equal(t, []string{"1:!agent_assigned"}, described(h.fetch(t, events)))
		require.Equal(t, []string{"1:question"}, described(h.fetch(t, requests)))
	})
}

// When the messages of an ended intent are purged, their dead letters are removed with them, and deliveries that still wait are
// skipped.
func TestPurgedMessagesTakeTheirDeadLettersAlong(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		sub := h.subscribe(t, "bob", &createInput{IntentId: &intent, MaxAttempts: ptr(int32(1))})
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: intent, AgentId: "bob"})
		require.NoError(t, err)
		h.send(t, "ann", channel, "bob", "one")
		require.Len(t, h.fetch(t, sub), 2)
		h.clock.Advance(time.Minute)
		h.sweep(t)
		h.send(t, "ann", channel, "bob", "two")
		require.Len(t, h.deadLetters(t, sub), 2)
		h.complete(t, intent)
		h.clock.Advance(25 * time.Hour)
		require.NoError(t, h.messaging.Sweep(context.Background()))
		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 1, "the log keeps its events")
		require.Equal(t, "1:!agent_assigned", describe(letters[0].GetDelivery()))
		require.Equal(t, []string{"3:!status_changed"}, described(h.fetch(t, sub)))
	})
}

// Nothing is gathered from an ended intent after it is purged. Subscriptions to everything that reaches an agent forget their
// positions in it, and a page that was read earlier is not numbered again.
func TestPurgedIntentsAreNotGathered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		wide, narrow := h.subscribe(t, "bob", &createInput{}), h.subscribe(t, "bob", &createInput{IntentId: &intent})
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: intent, AgentId: "bob"})
		require.NoError(t, err)
		h.send(t, "ann", channel, "bob", "one")
		h.complete(t, intent)
		require.Equal(t, []string{"1:!agent_assigned", "2:one"}, described(h.fetch(t, wide)))
		h.acknowledge(t, wide, 1, 2)
		require.Len(t, h.fetch(t, narrow), 3)
		require.Equal(t, 2, h.rows(t, "subscription_positions", "1 = 1"))

		sub, err := h.subscriptions.find(as("bob"), wide.GetId())
		require.NoError(t, err)
		reaching := func() []int64 {
			r := h.looking(t, sub)
			defer r.watch.Close() // the next one reads anew what reaches the agent
			seen, err := r.refresh(t.Context())
			require.NoError(t, err)
			require.Empty(t, seen.Backlogs)
			return r.watch.After(0, 1000)
		}
		intentNos := reaching()
		require.Len(t, intentNos, 1)
		page, err := h.messaging.ReadFeed(t.Context(), sub.Feed(intentNos[0]), 0, delivering.GatherPage)
		require.NoError(t, err)
		require.Len(t, page.Entries, 2)

		h.clock.Advance(25 * time.Hour)
		require.NoError(t, h.messaging.Sweep(t.Context()))
		require.Empty(t, reaching())
		require.Equal(t, 1, h.rows(t, "subscription_positions", "1 = 1"), "the intent's own subscription may go on")
		require.NoError(t, h.subscriptions.changes.Change(t.Context(), sub.No, record.Wanted{IntentNo: intentNos[0]}, func(c *record.Change) error {
			require.Equal(t, page.Log.Position, c.Position, "so what was read before is not numbered again")
			return nil
		}))
	})
}
