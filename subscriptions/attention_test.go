package subscriptions

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// Durable subscriptions say what messages ask, on streams and when fetched, if they include it.
func TestDurableSubscriptionsIncludeAttention(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.send(t, "bob", talk, "*", "what is to everyone reaches bob where he takes part")
		h.clock.Advance(time.Hour) // his log does not begin with that
		with := h.subscribe(t, "bob", &createInput{Name: ptr("with"), IntentId: &intentID, Include: []string{"attention"}})
		fetched := h.subscribe(t, "bob", &createInput{Name: ptr("fetched"), ChannelId: &talk, Include: []string{"attention"}})
		without := h.subscribe(t, "bob", &createInput{Name: ptr("without"), IntentId: &intentID})
		own := h.followAttending(t, "bob", nil)
		require.True(t, own.next(t).GetCaughtUp())
		h.send(t, "ann", talk, "bob", "to bob")
		h.send(t, "ann", talk, "*", "to all")
		h.send(t, "bob", talk, "*", "bob's own")
		expected := []string{"direct_notify", "ambient", ""}

		s, plain := h.stream(t, with, nil), h.stream(t, without, nil)
		answer, err := h.subscriptions.FetchDeliveries(as("bob"), &openintentv1.FetchDeliveriesRequest{SubscriptionId: fetched.GetId()})
		require.NoError(t, err)
		require.Len(t, answer.GetDeliveries(), 3)
		for i, want := range expected {
			require.Equal(t, want, s.next(t).GetAttention().GetReason())
			require.Equal(t, want, answer.GetDeliveries()[i].GetAttention().GetReason())
			require.Equal(t, want, own.next(t).GetAttention().GetReason())
			require.Nil(t, plain.next(t).Attention)
		}
		again := h.followAttending(t, "bob", ptr(int64(0)))
		for _, want := range expected {
			require.Equal(t, want, again.next(t).GetAttention().GetReason(), "as a later stream reads it")
		}
	})
}

// followAttending streams what reaches an agent, with attention.
func (r rooms) followAttending(t *testing.T, agent string, after *int64) *stream[wireOwn] {
	req := &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent}, AfterPosition: after, Include: []string{"attention"},
	}
	s, err := begin(as(agent), t, func(s *stream[wireOwn]) error { return r.messaging.Subscribe(req, s) })
	require.NoError(t, err)
	return s
}

// Posts have attention in the event's payload, beside the message's members.
func TestAttentionIsPosted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.subscribe(t, "bob", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL, Include: []string{"attention"}})
		m := h.send(t, "ann", talk, "bob", "one")
		endpoint.await(t, 1)
		var posted struct {
			Event struct {
				Payload struct {
					ID          string         `json:"id"`
					ChannelName string         `json:"channel_name"`
					Attention   map[string]any `json:"attention"`
				} `json:"payload"`
			} `json:"event"`
		}
		require.NoError(t, json.Unmarshal(endpoint.all()[0].Body, &posted))
		require.Equal(t, m.GetId(), posted.Event.Payload.ID)
		require.Equal(t, "talk", posted.Event.Payload.ChannelName)
		require.Equal(t, "direct_notify", posted.Event.Payload.Attention["reason"])
		require.Equal(t, "RESPONSE_POLICY_ACK_ONLY", posted.Event.Payload.Attention["policy"], "in this house posts are plain protojson")
	}, webhooked)
}
