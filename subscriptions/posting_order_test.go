package subscriptions

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/webhooks"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// A skipped delivery does not come after later ones, even if the subscriber may see it again and the outcome of a later post is
// lost.
func TestWhatWasSkippedStaysSkippedWhenALaterOutcomeIsLost(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var open, posted, failing atomic.Bool
			commits := func(s *settings) {
				s.database.Hooks = database.Hooks{BeforeCommit: func(context.Context) error {
					if failing.Load() {
						return databasetest.ErrInjected
					}
					return nil
				}}
			}
			h := newHouse(t, engine, commits, webhooked, restless)
			endpoint := newHook(t, func(p arrival) int {
				if !open.Load() {
					return http.StatusBadRequest
				}
				if p.text() == "behind" && posted.CompareAndSwap(false, true) {
					_, err := h.agents.UpsertAgent(as("b"), &openintentv1.RegisterAgentRequest{AgentId: ptr("b"), RoleId: ptr("guard")})
					assert.NoError(t, err)
					failing.Store(true) // the delivery is posted, but the server does not store that
				}
				return http.StatusOK
			})
			intentID := h.intent(t)
			channelID := h.open(t, intentID, "news")
			h.register(t, "b", "guard")
			h.subscribe(t, "b", &createInput{
				IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
			})
			h.asks(t, "a", channelID, "role:guard", "for guards")
			h.send(t, "a", channelID, "b", "behind")
			eventually(t, func() bool {
				return h.rows(t, "subscription_deliveries", "attempts = 1") == 1 && h.rows(t, "subscription_deliveries", "1 = 1") == 2
			}, "the first post did not fail")

			h.register(t, "b", "other")
			open.Store(true)
			h.clock.Advance(2 * time.Second)
			eventually(t, func() bool { return failing.Load() && h.leases() == 0 }, "the dispatch did not end")
			failing.Store(false)
			h.clock.Advance(record.LeaseTime)
			eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "1 = 1") == 0 }, "some deliveries are not finished")
			assert.Equal(t, []string{"behind", "behind"}, endpoint.taken())
		})
	}
}

// A process that stood still while another one took over does not post what the other one has skipped. In this test it stands
// still while it waits for a place at the endpoint.
func TestAReplacedPosterDoesNotPostWhatTheOtherSkipped(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		hanging, proceed := make(chan struct{}, webhooks.Concurrency), make(chan struct{})
		release := sync.OnceFunc(func() { close(proceed) })
		var known sync.Map
		endpoint := newHook(t, func(p arrival) int {
			if _, again := known.LoadOrStore(p.ID, true); p.text() == "slow" && !again {
				return http.StatusBadRequest // so that all of them are posted at the same time the next time
			}
			if p.text() == "slow" {
				hanging <- struct{}{}
				<-proceed
			}
			return http.StatusOK
		})
		t.Cleanup(release)
		busy, other := h.intent(t), h.intent(t)
		input := func(intentID string) *createInput {
			return &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType}}
		}
		h.subscribe(t, "b", input(busy))
		sub := h.subscribe(t, "b", input(other))
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

		h.clock.Advance(record.LeaseTime)
		seen, err := h.subscriptions.find(asOperator(), sub.GetId())
		require.NoError(t, err)
		second := h.subscriptions.supplier.NewConsumer(seen.No)
		taken, _, err := second.Acquire(t.Context(), seen, h.clock.Now(), record.Wanted{})
		require.NoError(t, err)
		require.NotNil(t, taken)
		require.NoError(t, h.subscriptions.changes.Change(t.Context(), seen.No, record.Wanted{}, func(c *record.Change) error {
			c.Locked.OfferedThrough = 1
			c.Delete(1)
			return nil
		}))

		release()
		eventually(t, func() bool { return h.leases() == 1 }, "the dispatches did not end")
		assert.Equal(t, slices.Repeat([]string{"slow"}, webhooks.Concurrency), endpoint.taken())
	}, webhooked, restless)
}

// leases returns how many consumers have a lease.
func (r rooms) leases() (count int) {
	count, _ = r.subscriptions.supplier.Consuming()
	return count
}
