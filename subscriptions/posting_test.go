package subscriptions

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"openintent/internal/fault/faulttest"
	"openintent/messaging/reading"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
)

func TestMessagesArePostedSignedAndAcknowledged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: ptr(endpoint.URL + "/in?k=v")})
		require.True(t, strings.HasPrefix(sub.GetSecret(), "whsec_"))
		sent := h.send(t, "a", channelID, "b", "<hello> & \u2028")

		assert.Equal(t, []string{"<hello> & \u2028"}, endpoint.await(t, 1))
		p := endpoint.all()[0]
		requireSigned(t, sub.GetSecret(), p)
		assert.Equal(t, fmt.Sprint(h.clock.Now().Unix()), p.Timestamp)
		assert.Equal(t, sub.GetId()+"_1", p.ID)
		assert.Equal(t, "/in", p.Path)
		assert.Equal(t, sub.GetId(), p.SubscriptionID)
		assert.Equal(t, sent.GetId(), p.Event.ID)
		assert.Equal(t, intentID, p.Event.IntentID)
		assert.Equal(t, "channel_message", p.Event.EventType)
		assert.Equal(t, "a", p.Event.Actor)
		assert.Equal(t, sent.GetCreatedAt().AsTime().Format(time.RFC3339Nano), p.Event.CreatedAt)
		assert.Equal(t, sent.GetId(), p.Event.Payload.ID)
		assert.Equal(t, channelID, p.Event.Payload.ChannelID)
		assert.Equal(t, intentID, p.Event.Payload.IntentID)
		assert.Equal(t, "news", p.Event.Payload.ChannelName)
		assert.Equal(t, "b", p.Event.Payload.To)

		after := h.settled(t, sub, 1)
		assert.Empty(t, after.GetSecret(), "a secret is shown only once")
		assert.Zero(t, after.GetOutstandingCount())
		assert.Empty(t, after.GetLastError())
		assert.NotContains(t, string(p.Body), "whsec_")
	}, webhooked)
}

func TestLoggedEventsArePostedAsTheyAre(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{"comment"}})
		for range 3 {
			_, err := h.intents.AppendEvent(as("a"), &openintentv1.AppendEventRequest{
				IntentId: intentID, EventType: "comment", Payload: content("said"),
			})
			require.NoError(t, err)
		}
		h.send(t, "a", h.open(t, intentID, "news"), "b", "no event")
		endpoint.await(t, 3)
		for i, p := range endpoint.all() {
			assert.Equal(t, "comment", p.Event.EventType)
			assert.Equal(t, "a", p.Event.Actor)
			assert.Contains(t, string(p.Body), `"event_hash":`)
			assert.True(t, strings.HasSuffix(p.ID, fmt.Sprintf("_%d", i+1)))
		}
	}, webhooked)
}

func TestWhatFailsIsPostedAgainInOrderUnderTheSameID(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		// Each delivery fails twice. Within a channel, no delivery may arrive before the previous one was accepted.
		tries := make(map[string]int)
		var mutex sync.Mutex
		endpoint := newHook(t, func(p arrival) int {
			mutex.Lock()
			defer mutex.Unlock()
			if tries[p.ID]++; tries[p.ID] <= 2 {
				return http.StatusBadRequest
			}
			return http.StatusOK
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		channels := []string{h.open(t, intentID, "one"), h.open(t, intentID, "two"), h.open(t, intentID, "three")}
		const each = 5
		for i := range each {
			for c, channelID := range channels {
				h.send(t, "a", channelID, "b", fmt.Sprintf("%d/%d", c, i))
			}
		}
		eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return len(endpoint.taken()) == each*len(channels)
		}, "some messages were not posted")

		ahead := make([]int, len(channels))
		ids := make(map[string]string)
		for _, p := range endpoint.all() {
			var c, i int
			_, err := fmt.Sscanf(p.text(), "%d/%d", &c, &i)
			require.NoError(t, err)
			require.Equal(t, ahead[c], i, "channel %d", c)
			if p.Status == http.StatusOK {
				ahead[c]++
			}
			if known, again := ids[p.text()]; again {
				require.Equal(t, known, p.ID, "a delivery posted again has the same id")
			}
			ids[p.text()] = p.ID
		}
		assert.Len(t, endpoint.all(), 3*each*len(channels))
		after := h.settled(t, sub, each*int64(len(channels)))
		assert.Zero(t, after.GetDeadLetterCount())
	}, webhooked, restless)
}

func TestAPoisonedChannelHoldsUpNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(p arrival) int {
			if strings.HasPrefix(p.text(), "poison") {
				return http.StatusUnprocessableEntity
			}
			return http.StatusOK
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL, MaxAttempts: ptr(int32(2))})
		bad, good := h.open(t, intentID, "bad"), h.open(t, intentID, "good")
		h.send(t, "a", bad, "b", "poison")
		h.send(t, "a", bad, "b", "behind")
		h.send(t, "a", good, "b", "beside")
		assert.Equal(t, []string{"beside"}, endpoint.await(t, 1))
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "attempts = 1") == 1 }, "the failure was not stored")
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "attempts >= 0") == 2 }, "the success was not stored")
		_, err := h.tryAcknowledge(sub, 0, 2)
		faulttest.Require(t, err, fault.Invalid, "NOT_DELIVERED")

		h.clock.Advance(2 * time.Second)
		assert.Equal(t, []string{"beside", "behind"}, endpoint.await(t, 2), "what was given up no longer blocks the next one")
		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 1)
		assert.Equal(t, "poison", textOf(letters[0].GetDelivery().GetMessage()))
		assert.Equal(t, "The endpoint answered 422. This was attempt 2 of 2.", letters[0].GetReason())
		assert.EqualValues(t, 2, letters[0].GetDelivery().GetAttempt())
	}, webhooked, restless)
}

// What was posted can be acknowledged, though the endpoint did not take it: who has read it elsewhere spares it the other attempts.
func TestWhatAnEndpointRefusedIsAcknowledged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(arrival) int { return http.StatusUnprocessableEntity })
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "refused")
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "attempts = 1") == 1 }, "the failure was not stored")
		h.acknowledge(t, sub, 1)
		require.Zero(t, h.rows(t, "subscription_deliveries", "attempts >= 0"))
		h.settled(t, sub, 1)
	}, webhooked, restless)
}

func TestDeadLettersAreRedrivenUnderTheSameID(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var open atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if open.Load() {
				return http.StatusOK
			}
			return http.StatusGone
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "lost")
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the answer 410 was not final")
		assert.Equal(t, "The endpoint answered 410: it is gone. This was attempt 1 of 10.", h.deadLetters(t, sub)[0].GetReason())

		open.Store(true)
		_, err := h.redrive(sub)
		require.NoError(t, err)
		assert.Equal(t, []string{"lost"}, endpoint.await(t, 1))
		posts := endpoint.all()
		assert.Len(t, posts, 2)
		assert.Equal(t, posts[0].ID, posts[1].ID)
		after := h.settled(t, sub, 1)
		assert.Zero(t, after.GetDeadLetterCount())
		assert.Nil(t, after.LastError)
	}, webhooked)
}

// Whoever has mended an endpoint need not wait until the next attempt is due.
func TestARedrivePostsAtOnceWhatFailed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var mended atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if mended.Load() {
				return http.StatusOK
			}
			return http.StatusServiceUnavailable
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "hello")
		eventually(t, func() bool {
			_, busy := h.subscriptions.poster.Resting()
			return len(endpoint.all()) == 1 && busy == 0
		}, "the message was not posted")
		mended.Store(true)
		_, err := h.redrive(sub)
		require.NoError(t, err)
		require.Equal(t, []string{"hello"}, endpoint.await(t, 1), "nobody has moved the clock")
		require.Empty(t, h.deadLetters(t, sub))
	}, webhooked)
}

func TestAHangingEndpointHoldsUpNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		hanging, healthy := newHook(t, func(arrival) int { return hang }), newHook(t, nil)
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		for range 12 { // more than the endpoint and the examiners handle simultaneously
			h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &hanging.URL})
		}
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &healthy.URL})
		h.send(t, "a", channelID, "b", "first")
		eventually(t, func() bool { return len(hanging.all()) == 4 }, "the hanging endpoint did not get all its posts")
		h.send(t, "a", channelID, "b", "second")
		assert.Equal(t, []string{"first", "second"}, healthy.await(t, 2))
		assert.Len(t, hanging.all(), 4)
	}, webhooked)
}

func TestAnOpenCircuitCostsNoAttempts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var broken atomic.Bool
		broken.Store(true)
		endpoint := newHook(t, func(arrival) int {
			if broken.Load() {
				return http.StatusBadGateway
			}
			return http.StatusOK
		})
		intentID := h.intent(t)
		const count = 20
		channels := make([]string, count)
		for i := range channels {
			channels[i] = h.open(t, intentID, fmt.Sprint("channel", i))
		}
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		for i, channelID := range channels {
			h.send(t, "a", channelID, "b", fmt.Sprint(i))
		}
		eventually(t, func() bool { return h.webhooksOf().Resting(endpoint.URL) > 0 }, "the circuit did not open")
		eventually(t, func() bool { return h.rows(t, "subscriptions", "consumer IS NOT NULL") == 0 }, "the dispatch did not end")
		attempts := h.rows(t, "subscription_deliveries", "attempts > 0")
		assert.Equal(t, len(endpoint.all()), attempts)
		assert.Less(t, attempts, count)

		broken.Store(false)
		eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return len(endpoint.taken()) == count
		}, "some messages were not posted after the endpoint recovered")
		h.settled(t, sub, count)
	}, webhooked, restless)
}

func (r rooms) webhooksOf() interface{ Resting(string) time.Duration } {
	return r.subscriptions.webhooks
}

func TestDeliveriesGoToTheAgentsEndpoint(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		h.register(t, "b", "")
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{UseEndpoint: ptr(true)})
		channelID := h.open(t, intentID, "news")
		h.send(t, "a", channelID, "b", "to its endpoint")
		eventually(t, func() bool { return strings.Contains(h.get(t, sub).GetLastError(), "registered no endpoint") }, "the missing endpoint is not reported")
		assert.Zero(t, h.rows(t, "subscription_deliveries", "attempts > 0"))

		_, err := h.agents.UpsertAgent(as("b"), &openintentv1.RegisterAgentRequest{AgentId: ptr("b"), Endpoint: &endpoint.URL})
		require.NoError(t, err)
		h.clock.Advance(30 * time.Second)
		assert.Equal(t, []string{"to its endpoint"}, endpoint.await(t, 1))
		assert.Equal(t, "news", endpoint.all()[0].Event.Payload.ChannelName)
		assert.Nil(t, h.settled(t, sub, 1).LastError)
	}, webhooked, restless)
}

func TestAnEndpointOfAForbiddenKindIsNotPostedTo(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "b", "")
		_, err := h.agents.UpsertAgent(as("b"), &openintentv1.RegisterAgentRequest{
			AgentId: ptr("b"), Endpoint: ptr("http://169.254.169.254/latest/meta-data"),
		})
		require.NoError(t, err)
		sub := h.subscribe(t, "b", &createInput{UseEndpoint: ptr(true), MaxAttempts: ptr(int32(1))})
		h.send(t, "a", h.open(t, h.intent(t), "news"), "b", "nowhere")
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the delivery was not given up")
		assert.Contains(t, h.deadLetters(t, sub)[0].GetReason(), "The URL cannot be posted to: the address is private")
	}, webhooked)
}

func TestWhatTheSubscriberMayNoLongerSeeIsPassedOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var stuck atomic.Bool
		stuck.Store(true)
		endpoint := newHook(t, func(arrival) int {
			if stuck.Load() {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		sub := h.subscribe(t, "b", &createInput{
			IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
		})
		h.send(t, "a", channelID, "b", "before")
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "attempts = 1") == 1 }, "no attempt was made")
		h.admit(t, intentID, "a")
		stuck.Store(false)
		eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return strings.Contains(h.get(t, sub).GetLastError(), "no access") && h.rows(t, "subscription_deliveries", "1 = 1") == 0
		}, "the delivery was kept")
		h.admit(t, intentID, "a", "b")
		h.send(t, "a", channelID, "b", "after")
		assert.Equal(t, []string{"after"}, endpoint.await(t, 1))
	}, webhooked, restless)
}

// A dispatch that is under way when a webhook moves ends with the next outcomes that it stores, and the rest goes to the new address.
func TestAWebhookThatMovesTakesAlongWhatIsUnderWay(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, sent := make(chan struct{}), make(chan struct{})
		fresh := newHook(t, nil)
		var subID string
		old := newHook(t, func(p arrival) int {
			switch p.text() {
			case "one":
				close(first)
				<-sent // so what follows waits together, for the next dispatch
			case "two":
				_, err := h.subscriptions.UpdateSubscription(as("b"), &openintentv1.UpdateSubscriptionRequest{
					SubscriptionId: subID, WebhookUrl: &fresh.URL,
				})
				assert.NoError(t, err)
				h.clock.Advance(250 * time.Millisecond) // so the outcomes are stored
			}
			return http.StatusOK
		})
		channelID := h.open(t, h.intent(t), "news")
		subID = h.subscribe(t, "b", &createInput{ChannelId: &channelID, WebhookUrl: &old.URL}).GetId()
		h.send(t, "a", channelID, "b", "one")
		<-first
		for _, text := range []string{"two", "three", "four"} {
			h.send(t, "a", channelID, "b", text)
		}
		close(sent)
		eventually(t, func() bool { return slices.Contains(fresh.taken(), "four") }, "nothing came to the new address")
		assert.Equal(t, []string{"one", "two"}, old.taken())
	}, webhooked)
}

func TestADeletedSubscriptionIsNotPostedAnyMore(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(arrival) int { return http.StatusServiceUnavailable })
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", channelID, "b", "once")
		eventually(t, func() bool { return len(endpoint.all()) > 0 }, "nothing was posted")
		_, err := h.subscriptions.DeleteSubscription(as("b"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		eventually(t, func() bool { return h.posts() == 0 }, "the poster still follows the subscription")
	}, webhooked)
}

func TestAnExpiredSubscriptionIsNotPostedAnyMore(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(arrival) int { return http.StatusServiceUnavailable })
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		h.subscribe(t, "b", &createInput{
			IntentId: &intentID, WebhookUrl: &endpoint.URL, ExpiresAt: timestamppb.New(h.clock.Now().Add(time.Minute)),
		})
		h.send(t, "a", channelID, "b", "once")
		eventually(t, func() bool { return h.rows(t, "subscriptions", "post_at > ?", database.Micros(h.clock.Now())) == 1 },
			"no further attempt was scheduled")
		h.clock.Advance(time.Minute)
		eventually(t, func() bool { return h.posts() == 0 }, "the poster still follows the subscription")
		h.sweep(t)
		assert.Equal(t, 1, h.rows(t, "subscriptions", "post_at IS NULL"))
		assert.Len(t, endpoint.all(), 1)
	}, webhooked, restless)
}
