package subscriptions

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"openintent/messaging/reading"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/webhooks"
)

// When commits fail, with or without effect, each posted delivery is either posted again under the same id or finished, and
// nothing overtakes anything else within a channel.
func TestFailingCommitsLoseAndOvertakeNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			faults := new(databasetest.CommitFaults)
			hooks := func(s *settings) { s.database.Hooks = faults.Hooks() }
			h := newHouse(t, engine, hooks, webhooked, restless)
			var sent atomic.Bool // the faults affect posting, not the senders
			endpoint := newHook(t, func(arrival) int {
				if !sent.Load() {
					return http.StatusTooManyRequests
				}
				switch rand.N(4) {
				case 0:
					faults.FailBefore(1)
				case 1:
					faults.FailAfter(1)
				case 2:
					return http.StatusTooManyRequests
				}
				return http.StatusOK
			})
			intentID := h.intent(t)
			channels := []string{h.open(t, intentID, "one"), h.open(t, intentID, "two")}
			const each = 10
			sub := h.subscribe(t, "b", &createInput{
				IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType}, MaxAttempts: ptr(int32(100)),
			})
			for i := range each {
				for c, channelID := range channels {
					h.send(t, "a", channelID, "b", fmt.Sprintf("%d/%d", c, i))
				}
			}
			sent.Store(true)
			eventually(t, func() bool {
				h.clock.Advance(time.Second)
				return h.get(t, sub).GetAcknowledgedThrough() == each*int64(len(channels))
			}, "some messages were not delivered")

			next := make([]int, len(channels))
			ids := make(map[string]string)
			for _, p := range endpoint.all() {
				if p.Status != http.StatusOK {
					continue
				}
				var c, i int
				_, err := fmt.Sscanf(p.text(), "%d/%d", &c, &i)
				require.NoError(t, err)
				require.LessOrEqual(t, i, next[c], "one overtook")
				next[c] = max(next[c], i+1)
				if known, again := ids[p.text()]; again {
					require.Equal(t, known, p.ID)
				}
				ids[p.text()] = p.ID
			}
			assert.Equal(t, []int{each, each}, next, "a message was lost")
		})
	}
}

func TestWhatNoWakeUpToldOfIsPosted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, webhooked, restless)
	endpoint := newHook(t, nil)
	intentID := h.intent(t)
	channelID := h.open(t, intentID, "news")
	sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
	silent := h.replica(t, webhooked) // its wake-ups do not reach the other replica
	silent.subscriptions.Stop()
	for _, text := range []string{"first", "second"} {
		silent.send(t, "a", channelID, "b", text)
	}
	assert.Equal(t, []string{"first", "second"}, endpoint.await(t, 2))

	// The poster also finds what another replica creates and what it redrives.
	late := silent.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: ptr(endpoint.URL + "/late")})
	silent.send(t, "a", channelID, "b", "third")
	endpoint.await(t, 4)
	h.settled(t, sub, 3)
	h.settled(t, late, 1)
}

// A post that waited for its endpoint contains what its subscriber may see when it is sent.
func TestWhatWaitedForItsEndpointIsJudgedAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		hanging, proceed := make(chan struct{}, webhooks.Concurrency), make(chan struct{})
		release := sync.OnceFunc(func() { close(proceed) })
		var known sync.Map
		endpoint := newHook(t, func(p arrival) int {
			if _, again := known.LoadOrStore(p.ID, true); p.text() == "slow" && !again {
				return http.StatusBadRequest // so that all of them are posted simultaneously the next time
			}
			if p.text() == "slow" {
				hanging <- struct{}{}
				<-proceed
			}
			return http.StatusOK
		})
		t.Cleanup(release)
		busy, other := h.intent(t), h.intent(t)
		for _, intentID := range []string{busy, other} {
			h.subscribe(t, "b", &createInput{
				IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
			})
		}
		for i := range webhooks.Concurrency {
			h.send(t, "a", h.open(t, busy, fmt.Sprint("channel ", i)), "b", "slow")
		}
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "attempts = 1") == webhooks.Concurrency }, "some posts have not failed")
		h.clock.Advance(2 * time.Second)
		for range webhooks.Concurrency {
			<-hanging
		}
		h.send(t, "a", h.open(t, other, "talk"), "b", "late")
		eventually(t, func() bool { return h.rows(t, "subscriptions", "consumer IS NOT NULL") == 2 }, "no post waits for a place")
		h.admit(t, other, "a")
		release()
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "1 = 1") == 0 }, "some deliveries are not finished")
		assert.Equal(t, slices.Repeat([]string{"slow"}, webhooks.Concurrency), endpoint.taken())
	}, webhooked, restless)
}
