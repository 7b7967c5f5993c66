package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/optional"
)

// Whoever has no access to the intent cannot be addressed there: the message would never be seen.
func TestAnAgentWithoutAccessCannotBeAddressed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.admit(t, intentID, "alice", "bob")
		id := h.create(t, &createRequest{IntentId: intentID, Name: "shared"})
		to := func(agent string) *sendRequest { return &sendRequest{ChannelId: id, To: &agent} }
		question := func(agent string) *sendRequest {
			request := to(agent)
			request.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
			return request
		}
		for _, request := range []*sendRequest{to("mallory"), question("mallory")} {
			for range 2 { // the writer remembers nothing first, and then all that it needs
				_, err := h.messaging.SendMessage(as("alice"), request)
				faulttest.Require(t, err, fault.Denied, "TARGET_WITHOUT_ACCESS")
				h.send(t, "alice", to("bob"))
			}
		}
		_, err := h.messaging.SendMessageByName(as("alice"), &openintentv1.SendMessageByNameRequest{
			IntentId: intentID, Name: "new", To: ptr("mallory"), Payload: content("x"),
		})
		faulttest.Require(t, err, fault.Denied, "TARGET_WITHOUT_ACCESS")
		listed, err := h.channels.ListChannels(as("alice"), &openintentv1.ListChannelsRequest{IntentId: intentID})
		require.NoError(t, err)
		require.Len(t, listed.GetChannels(), 1, "a refused message makes no channel")
		_, err = h.messaging.Ask(as("alice"), &openintentv1.AskRequest{ChannelId: id, To: "mallory", Payload: content("x")})
		faulttest.Require(t, err, fault.Denied, "TARGET_WITHOUT_ACCESS")

		h.send(t, "alice", to("role:mallory"))
		h.send(t, "alice", to("*"))

		asked := h.send(t, "bob", question("alice"))
		h.admit(t, intentID, "alice") // bob has lost its access
		reply, err := h.messaging.ReplyMessage(as("alice"), &openintentv1.ReplyMessageRequest{
			ChannelId: id, MessageId: asked.GetId(), Payload: content("x"),
		})
		require.NoError(t, err, "the asker may have left meanwhile")
		require.Equal(t, "bob", reply.GetTo())
		_, err = h.messaging.SendMessage(as("alice"), to("bob"))
		faulttest.Require(t, err, fault.Denied, "TARGET_WITHOUT_ACCESS")
	})
}

// What time takes away counts at once, also for the writer that remembers.
func TestATargetsAccessRunsOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.admit(t, intentID, "alice")
		id := h.create(t, &createRequest{IntentId: intentID, Name: "shared"})
		until := h.clock.Now().Add(time.Minute)
		_, err := h.intents.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
			IntentId: intentID, PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
			ExpiresAt: optional.Time(until),
		})
		require.NoError(t, err)
		for range 3 {
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		}
		h.clock.Set(until)
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, To: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "TARGET_WITHOUT_ACCESS")
	})
}
