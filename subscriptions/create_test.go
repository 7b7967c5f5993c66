package subscriptions

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestCreateDescribesWhatItMade(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		expires := timestamppb.New(h.clock.Now().Add(time.Hour))
		made := h.subscribe(t, "bob", &createInput{
			Name: ptr("mine"), ChannelId: &channel, EventTypes: []string{"channel_message"}, MessageType: ptr(notify),
			AcknowledgeSeconds: ptr(int32(7)), MaxAttempts: ptr(int32(3)), ExpiresAt: expires, CorrelationId: ptr("c-1"),
			DigestSeconds: ptr(int32(60)), MaxChars: ptr(int32(500)), Compose: ptr(true),
		})
		require.True(t, strings.HasPrefix(made.GetId(), "sub_"))
		require.Equal(t, "mine", made.GetName())
		require.Equal(t, "bob", made.GetSubscriberId())
		require.Equal(t, channel, made.GetChannelId())
		require.Nil(t, made.IntentId)
		require.Equal(t, []string{"channel_message"}, made.GetEventTypes())
		require.Equal(t, notify, made.GetMessageType())
		require.Equal(t, "c-1", made.GetCorrelationId())
		require.Equal(t, []any{true, int32(60), int32(500)}, []any{made.GetCompose(), made.GetDigestSeconds(), made.GetMaxChars()})
		require.True(t, made.GetActive())
		require.Equal(t, int32(7), made.GetAcknowledgeSeconds())
		require.Equal(t, int32(3), made.GetMaxAttempts())
		require.Equal(t, expires.AsTime(), made.GetExpiresAt().AsTime())
		require.Nil(t, made.Secret)
		require.Zero(t, made.GetLastNumber())
		found := h.get(t, made)
		require.Equal(t, made.GetCreatedAt().AsTime(), found.GetCreatedAt().AsTime())
		require.Equal(t, made.String(), found.String())

		unnamed := h.subscribe(t, "bob", &createInput{})
		require.Equal(t, unnamed.GetId(), unnamed.GetName())
		require.Equal(t, int32(30), unnamed.GetAcknowledgeSeconds())
		require.Equal(t, int32(10), unnamed.GetMaxAttempts())
	})
}

func TestCreateShowsASecretOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		made := h.subscribe(t, "bob", &createInput{WebhookUrl: ptr("https://hooks.example.com/in")})
		require.True(t, strings.HasPrefix(made.GetSecret(), "whsec_"))
		require.Nil(t, h.get(t, made).Secret)
		listed, err := h.subscriptions.ListSubscriptions(as("bob"), &openintentv1.ListSubscriptionsRequest{})
		require.NoError(t, err)
		require.Nil(t, listed.GetSubscriptions()[0].Secret)
		require.Equal(t, "https://hooks.example.com/in", listed.GetSubscriptions()[0].GetWebhookUrl())
		_, err = h.tryFetch(as("bob"), made, 10)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_POSTED")
		_, err = h.tryStream(as("bob"), t, made, nil)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_POSTED")
	})
}

func TestCreateRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		for field, req := range map[string]*createInput{
			"name":           {Name: ptr("default")},
			"channel_id":     {IntentId: &intent, ChannelId: &channel},
			"expires_at":     {ExpiresAt: timestamppb.New(h.clock.Now())},
			"webhook_url":    {WebhookUrl: ptr("http://127.0.0.1/in")},
			"use_endpoint":   {WebhookUrl: ptr("https://hooks.example.com/in"), UseEndpoint: ptr(true)},
			"event_types":    {EventTypes: []string{"a\x00"}},
			"correlation_id": {CorrelationId: ptr("\xff")},
		} {
			_, err := h.subscriptions.CreateSubscription(as("bob"), req)
			faulttest.RequireBadField(t, err, field)
		}
		for _, name := range []string{"", "a/b", "a\nb", strings.Repeat("ä", 129), "a\xff"} {
			_, err := h.subscriptions.CreateSubscription(as("bob"), &createInput{Name: &name})
			faulttest.RequireBadField(t, err, "name")
		}
		_, err := h.subscriptions.CreateSubscription(as("bob"), &createInput{SubscriberId: ptr("eve")})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		_, err = h.subscriptions.CreateSubscription(asOperator(), &createInput{SubscriberId: ptr(caller.System)})
		faulttest.RequireBadField(t, err, "subscriber_id")
		_, err = h.subscriptions.CreateSubscription(as("bob"), &createInput{IntentId: ptr("none")})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
		_, err = h.subscriptions.CreateSubscription(as("bob"), &createInput{ChannelId: ptr("none")})
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")

		h.closeChannel(t, channel)
		_, err = h.subscriptions.CreateSubscription(as("bob"), &createInput{ChannelId: &channel})
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		h.admit(t, intent, "ann")
		_, err = h.subscriptions.CreateSubscription(as("bob"), &createInput{IntentId: &intent})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.subscriptions.CreateSubscription(asOperator(), &createInput{IntentId: &intent, SubscriberId: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

func TestNamesAreAnAgentsOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first := h.subscribe(t, "bob", &createInput{Name: ptr("mine")})
		_, err := h.subscriptions.CreateSubscription(as("bob"), &createInput{Name: ptr("mine")})
		faulttest.Require(t, err, fault.AlreadyExists, "SUBSCRIPTION_NAME_TAKEN")
		h.subscribe(t, "ann", &createInput{Name: ptr("mine")})

		answer, err := h.subscriptions.DeleteSubscription(as("bob"),
			&openintentv1.DeleteSubscriptionRequest{SubscriptionId: first.GetId()})
		require.NoError(t, err)
		require.Equal(t, "deleted", answer.GetStatus())
		_, err = h.subscriptions.GetSubscription(as("bob"), &openintentv1.GetSubscriptionRequest{SubscriptionId: first.GetId()})
		faulttest.Require(t, err, fault.NotFound, "SUBSCRIPTION_NOT_FOUND")
		h.subscribe(t, "bob", &createInput{Name: ptr("mine")})
	})
}

func TestAnAgentsSubscriptionsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var last *openintentv1.Subscription
		for range maxSubscriptions {
			last = h.subscribe(t, "bob", &createInput{})
		}
		_, err := h.subscriptions.CreateSubscription(as("bob"), &createInput{})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_SUBSCRIPTIONS")
		require.Equal(t, maxSubscriptions, h.rows(t, "subscriptions", "1 = 1"), "the subscription was not created")
		h.subscribe(t, "ann", &createInput{})
		require.NotNil(t, h.ownLog(t, "bob"), "the agent's own log does not count")
		_, err = h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: last.GetId()})
		require.NoError(t, err)
		h.subscribe(t, "bob", &createInput{})
	})
}

// A subscription that is moved to a URL posts there alone, and what went wrong before is forgotten.
func TestAMovedWebhookBeginsAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &createInput{UseEndpoint: ptr(true)})
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "UPDATE subscriptions SET last_error = 'The endpoint answered 503.'"})
		}))
		move := func(url string) (*openintentv1.Subscription, error) {
			return h.subscriptions.UpdateSubscription(as("bob"), &openintentv1.UpdateSubscriptionRequest{SubscriptionId: sub.GetId(), WebhookUrl: &url})
		}
		_, err := move("http://127.0.0.1/in")
		faulttest.RequireBadField(t, err, "webhook_url")
		moved, err := move("https://hooks.example.com/in")
		require.NoError(t, err)
		require.Equal(t, "https://hooks.example.com/in", moved.GetWebhookUrl())
		require.False(t, moved.GetUseEndpoint())
		require.Nil(t, moved.LastError)
	})
}

// Only the subscriber and the operator can learn that a subscription exists, whatever they call.
func TestSubscriptionsAreTheirAgents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		sub := h.subscribe(t, "bob", &createInput{Name: ptr("b")})
		h.subscribe(t, "bob", &createInput{Name: ptr("a"), IntentId: &intent})
		h.subscribe(t, "ann", &createInput{Name: ptr("c")})
		own := h.follow(t, "bob", nil)
		require.True(t, own.next(t).GetCaughtUp())

		id := sub.GetId()
		for _, call := range []func() error{
			func() error {
				_, err := h.subscriptions.GetSubscription(as("eve"), &openintentv1.GetSubscriptionRequest{SubscriptionId: id})
				return err
			},
			func() error {
				_, err := h.subscriptions.DeleteSubscription(as("eve"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: id})
				return err
			},
			func() error { _, err := h.tryFetch(as("eve"), sub, 1); return err },
			func() error { _, err := h.tryStream(as("eve"), t, sub, nil); return err },
			func() error {
				_, err := h.subscriptions.AcknowledgeDeliveries(as("eve"),
					&openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: id})
				return err
			},
			func() error {
				_, err := h.subscriptions.ListDeadLetters(as("eve"), &openintentv1.ListDeadLettersRequest{SubscriptionId: id})
				return err
			},
			func() error {
				_, err := h.subscriptions.RedriveDeadLetters(as("eve"), &openintentv1.RedriveDeadLettersRequest{SubscriptionId: id})
				return err
			},
		} {
			faulttest.Require(t, call(), fault.NotFound, "SUBSCRIPTION_NOT_FOUND")
		}
		require.Equal(t, []string{"bob a", "bob b"}, h.listed(t, "bob", &openintentv1.ListSubscriptionsRequest{}))
		require.Equal(t, []string{"bob a"}, h.listed(t, "bob", &openintentv1.ListSubscriptionsRequest{IntentId: &intent}))
		require.Equal(t, []string{"ann c", "bob a", "bob b"}, h.listed(t, "", &openintentv1.ListSubscriptionsRequest{}))
		require.Equal(t, []string{"ann c"}, h.listed(t, "", &openintentv1.ListSubscriptionsRequest{SubscriberId: ptr("ann")}))
		require.Equal(t, []string{"bob a"}, h.listed(t, "", &openintentv1.ListSubscriptionsRequest{IntentId: &intent}))
		_, err := h.subscriptions.ListSubscriptions(as("eve"), &openintentv1.ListSubscriptionsRequest{SubscriberId: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
	})
}

// listed lists subscriptions by pages of one.
func (h *house) listed(t *testing.T, agent string, req *openintentv1.ListSubscriptionsRequest) (names []string) {
	ctx := asOperator()
	if agent != "" {
		ctx = as(agent)
	}
	req.Limit = ptr(int32(1))
	for pages := 0; ; pages++ {
		require.Less(t, pages, 100)
		response, err := h.subscriptions.ListSubscriptions(ctx, req)
		require.NoError(t, err)
		for _, sub := range response.GetSubscriptions() {
			names = append(names, sub.GetSubscriberId()+" "+sub.GetName())
		}
		if req.Cursor = response.NextCursor; req.Cursor == nil {
			return names
		}
	}
}
