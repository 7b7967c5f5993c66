package subscriptions

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/subscriptions/record"
)

func TestASilentReplicaIsReplaced(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})

		// A replica acquired the lease and died: it neither renews the lease nor releases it.
		var taken *record.Subscription
		taken, err := h.subscriptions.find(asOperator(), sub.GetId())
		require.NoError(t, err)
		dead := h.subscriptions.supplier.NewConsumer(taken.No)
		eventually(t, func() bool {
			acquired, _, err := dead.Acquire(context.Background(), taken, h.clock.Now(), record.Wanted{})
			return err == nil && acquired != nil
		}, "another consumer has the lease")
		h.subscriptions.supplier.DropConsumer(dead)

		channelID := h.open(t, intentID, "news")
		h.send(t, "a", channelID, "b", "first")
		h.send(t, "a", channelID, "b", "second")
		for range 9 {
			h.clock.Advance(time.Second)
			require.NoError(t, h.subscriptions.poll(context.Background()))
			require.Empty(t, endpoint.all(), "one replica posts at a time")
		}
		h.clock.Advance(time.Second)
		assert.Equal(t, []string{"first", "second"}, endpoint.await(t, 2))
		h.settled(t, sub, 2)
	}, webhooked, restless)
}

func TestReplicasDoNotPostTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, webhooked, restless)
	endpoint := newHook(t, nil)
	intentID := h.intent(t)
	channelID := h.open(t, intentID, "news")
	sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
	second := h.replica(t, webhooked, restless)
	eventually(t, func() bool { return second.resting() == 1 }, "the replica does not know the subscription")
	const count = 50
	for i := range count {
		[]rooms{h.rooms, second}[i%2].send(t, "a", channelID, "b", fmt.Sprintf("%02d", i))
	}
	texts := endpoint.await(t, count)
	h.settled(t, sub, count)
	assert.Len(t, texts, count)
	assert.True(t, slices.IsSorted(texts))
}

func TestAStopIsPromptAndCostsNoAttempt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(arrival) int { return hang })
		intentID := h.intent(t)
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "again")
		eventually(t, func() bool { return len(endpoint.all()) == 1 }, "nothing was posted")
		h.subscriptions.Stop()
		assert.Zero(t, h.rows(t, "subscription_deliveries", "attempts > 0"))
		assert.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"))
		assert.Zero(t, h.rows(t, "subscriptions", "consumer IS NOT NULL"))
	}, webhooked)
}

func TestWhatWasUnderWayAtAStopIsMadeAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, webhooked)
	var stuck atomic.Bool
	stuck.Store(true)
	endpoint := newHook(t, func(arrival) int {
		if stuck.Load() {
			return hang
		}
		return http.StatusOK
	})
	intentID := h.intent(t)
	sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
	h.send(t, "a", h.open(t, intentID, "news"), "b", "again")
	eventually(t, func() bool { return len(endpoint.all()) == 1 }, "nothing was posted")
	h.subscriptions.Stop()

	stuck.Store(false)
	second := h.replica(t, webhooked)
	assert.Equal(t, []string{"again"}, endpoint.await(t, 1))
	posts := endpoint.all()
	assert.Equal(t, posts[0].ID, posts[1].ID)
	second.settled(t, sub, 1)
}

// The first poll after a subscription's first examination finds what was stored between the two.
func TestTheFirstPollFindsWhatNoWakeUpToldOf(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, webhooked) // nobody looks without a wake-up
	endpoint := newHook(t, nil)
	intentID := h.intent(t)
	channelID := h.open(t, intentID, "news")
	h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
	eventually(t, func() bool { return h.resting() == 1 }, "the subscription was not examined")
	h.silent(t).send(t, "a", channelID, "b", "first")
	h.pollAll(t)
	assert.Equal(t, []string{"first"}, endpoint.await(t, 1))
}
