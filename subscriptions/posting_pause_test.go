package subscriptions

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// pausable returns an option that lets a house pause what posts, and what says whether it does.
func pausable() (option, *atomic.Bool) {
	paused := new(atomic.Bool)
	return func(s *settings) {
		s.room.Paused = func(_ *database.Tx, makers ...string) (map[string]string, error) {
			if !paused.Load() {
				return nil, nil
			}
			return map[string]string{makers[0]: "KEY_REVOKED"}, nil
		}
	}, paused
}

// Once the key of a subscription's maker has ended, no further post begins, also if a dispatch has begun and has more to post. What is left
// waits, and is posted when the subscription is no longer paused.
func TestAPauseEndsADispatch(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			pauses, paused := pausable()
			h := newHouse(t, engine, webhooked, pauses)
			first, sent := make(chan struct{}), make(chan struct{})
			endpoint := newHook(t, func(p arrival) int {
				switch p.text() {
				case "one":
					close(first)
					<-sent // so what follows waits together, for the next dispatch
				case "two":
					paused.Store(true)
				}
				return http.StatusOK
			})
			channel := h.open(t, h.intent(t), "talk")
			sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, WebhookUrl: &endpoint.URL})
			h.send(t, "ann", channel, "bob", "one")
			<-first
			h.send(t, "ann", channel, "bob", "two")
			h.send(t, "ann", channel, "bob", "three")
			close(sent)
			eventually(t, func() bool {
				return h.get(t, sub).GetAcknowledgedThrough() == 2 && h.rows(t, "subscriptions", "consumer IS NULL") == 1
			}, "the dispatch did not end after the second post")
			require.Equal(t, []string{"one", "two"}, endpoint.taken())
			require.Equal(t, "KEY_REVOKED", h.get(t, sub).GetPausedReason())

			found, err := h.subscriptions.find(as("bob"), sub.GetId())
			require.NoError(t, err)
			h.send(t, "ann", channel, "bob", "four")
			until := func() time.Time {
				all, _ := h.subscriptions.poster.Resting()
				return all[found.No]
			}
			before := until()
			h.messaging.WakeSubscription(found.No)
			eventually(t, func() bool { return !until().Equal(before) && !until().IsZero() }, "it was not examined again")
			require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"), "what came meanwhile waits in the log")

			paused.Store(false)
			h.messaging.WakeSubscription(found.No)
			require.Equal(t, []string{"one", "two", "three", "four"}, endpoint.await(t, 4))
		})
	}
}

// A redrive stores that there is something to post. So the poll of any replica finds it, also if nobody hears of the redrive.
func TestARedriveStoresThatThereIsSomethingToPost(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			pauses, paused := pausable()
			h := newHouse(t, engine, webhooked, pauses)
			endpoint := newHook(t, func(arrival) int { return http.StatusGone })
			channel := h.open(t, h.intent(t), "talk")
			sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, WebhookUrl: &endpoint.URL})
			h.send(t, "ann", channel, "bob", "one")
			eventually(t, func() bool {
				return h.get(t, sub).GetDeadLetterCount() == 1 && h.rows(t, "subscriptions", "consumer IS NULL") == 1
			}, "")
			require.Equal(t, 1, h.rows(t, "subscriptions", "post_at IS NULL"))
			paused.Store(true) // so nobody posts it at once
			_, err := h.redrive(sub)
			require.NoError(t, err)
			require.Equal(t, 1, h.rows(t, "subscriptions", "post_at IS NOT NULL"))
		})
	}
}

// A key that ends pauses the webhooks that were made with it and still post, and nothing else.
func TestWhatPausesWithAKeyPosts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		posting := func(expires time.Duration) *openintentv1.Subscription {
			input := &createInput{WebhookUrl: &endpoint.URL}
			if expires > 0 {
				input.ExpiresAt = h.in(expires)
			}
			return h.subscribe(t, "bob", input)
		}
		one := posting(0)
		h.subscribe(t, "bob", &createInput{})
		posting(time.Minute)
		deleted := posting(0)
		_, err := h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: deleted.GetId()})
		require.NoError(t, err)
		h.clock.Advance(time.Minute)
		require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
			ids, err := PostedBy(tx, "key", 10)
			require.Equal(t, []string{one.GetId()}, ids)
			return err
		}))
	}, webhooked)
}
