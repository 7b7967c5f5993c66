package subscriptions

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// If an intent reaches the agent only by a role, messages to the role are delivered when the agent takes the role. If the
// intent was gathered meanwhile, none of them are delivered, and the inbox shows the open ones.
func TestWhatARoleBringsToASubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		byRole, otherwise := h.open(t, h.intent(t), "a"), h.open(t, h.intent(t), "b")
		h.register(t, "bob", "smith")
		sub := h.subscribe(t, "bob", &createInput{})
		h.send(t, "ann", otherwise, "bob", "one")
		h.send(t, "ann", byRole, "role:smith", "two")
		require.ElementsMatch(t, []string{"one", "two"}, textsOf(h.fetch(t, sub)))

		h.register(t, "bob", "cook")
		h.asks(t, "ann", otherwise, "role:smith", "passed")
		h.asks(t, "ann", byRole, "role:smith", "waited")
		h.send(t, "ann", otherwise, "bob", "three")
		require.Equal(t, []string{"three"}, textsOf(h.fetch(t, sub)))
		h.register(t, "bob", "smith")
		require.Equal(t, []string{"waited"}, textsOf(h.fetch(t, sub)))
		inbox, err := h.messaging.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob"})
		require.NoError(t, err)
		var open []string
		for _, item := range inbox.GetItems() {
			if item.GetMessage().GetMessageType() == request {
				open = append(open, textOf(item.GetMessage()))
			}
		}
		require.ElementsMatch(t, []string{"passed", "waited"}, open)
	})
}

// If a client appends an event of the type that copies of messages have, the server takes the event for such a copy and does
// not deliver it.
func TestAClientsEventOfTheTypeOfMessagesIsNotDelivered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		sub := h.subscribe(t, "bob", &createInput{IntentId: &intent})
		for _, eventType := range []string{"channel_message", "noted"} {
			_, err := h.intents.AppendEvent(as("creator"), &openintentv1.AppendEventRequest{IntentId: intent, EventType: eventType})
			require.NoError(t, err)
		}
		require.Equal(t, []string{"1:!noted"}, described(h.fetch(t, sub)))
		listed, err := h.intents.ListEvents(as("creator"), &openintentv1.ListEventsRequest{IntentId: intent})
		require.NoError(t, err)
		require.Equal(t, "channel_message", listed.GetEvents()[1].GetEventType())
	})
}

// textsOf returns the texts of the delivered messages.
func textsOf(deliveries []*wireDelivery) []string {
	texts := make([]string, len(deliveries))
	for i, d := range deliveries {
		texts[i] = textOf(d.GetMessage())
	}
	return texts
}
