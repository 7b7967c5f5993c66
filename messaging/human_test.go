package messaging

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// asHuman is a context in which a person calls, through a program if it is relayed.
func asHuman(agent string, relayed bool) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{
		Agent: agent, KeyID: "person", KeyAgents: []string{agent}, Human: true, Relayed: relayed,
	})
}

func TestAPersonsMessagesSaySo(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		ann := asHuman("ann", false)
		for name, send := range map[string]func() (*wireMessage, error){
			"a plain one": func() (*wireMessage, error) {
				return h.messaging.SendMessage(ann, &sendRequest{ChannelId: id, Payload: content("hello")})
			},
			"one in a thread": func() (*wireMessage, error) {
				return h.messaging.SendMessage(ann, &sendRequest{
					ChannelId: id, Payload: content("hello"), ParentId: ptr(h.say(t, "alice", id, "begin").GetId()), Subject: ptr("a subject"),
				})
			},
			"by name": func() (*wireMessage, error) {
				return h.messaging.SendMessageByName(ann, &byNameRequest{
					IntentId: h.channel(t, id).GetIntentId(), Name: "elsewhere", Payload: content("hello"),
				})
			},
			"an answer": func() (*wireMessage, error) {
				return h.tryReply(ann, id, h.asks(t, "alice", id, "ann").GetId(), "yes")
			},
		} {
			sent, err := send()
			require.NoError(t, err, name)
			require.Equal(t, "human", sent.GetSenderKind(), name)
			require.Equal(t, "human", h.get(t, sent.GetChannelId(), sent.GetId()).GetSenderKind(), name)
		}
		for _, m := range h.list(t, "alice", &listRequest{ChannelId: id}) {
			require.Equal(t, m.GetSender() == "ann", m.SenderKind != nil, m)
		}
		events, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
			IntentId: h.channel(t, id).GetIntentId(), EventType: ptr("channel_message"),
		})
		require.NoError(t, err)
		require.NotEmpty(t, events.GetEvents())
		for _, e := range events.GetEvents() {
			require.Equal(t, e.GetActor() == "ann", e.GetPayload().AsMap()["sender_kind"] == "human", e)
		}
	})
}

// What a program sends with a person's key is no person's word, and neither is what the operator sends for an agent.
func TestProgramsDoNotSpeakForPersons(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		sent, err := h.messaging.SendMessage(asHuman("ann", true), &sendRequest{ChannelId: id})
		require.NoError(t, err)
		require.Nil(t, sent.SenderKind)
		sent, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("ann")})
		require.NoError(t, err)
		require.Nil(t, sent.SenderKind)
		require.Nil(t, h.say(t, "ann", id, "an agent of the same name").SenderKind)
	})
}

// Who sent a message stays with it, whatever becomes of it, and a repeat gets what the first call got.
func TestWhoSentAMessageStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		req := &sendRequest{ChannelId: id, Payload: content("hello"), IdempotencyKey: ptr("k")}
		first, err := h.messaging.SendMessage(asHuman("ann", false), req)
		require.NoError(t, err)
		again, err := h.messaging.SendMessage(asHuman("ann", true), req)
		require.NoError(t, err)
		require.True(t, proto.Equal(first, again), "%v", again)

		edited, err := h.messaging.UpdateMessage(asHuman("ann", true), &openintentv1.UpdateMessageRequest{
			ChannelId: id, MessageId: first.GetId(), Payload: content("hello all"),
		})
		require.NoError(t, err)
		require.Equal(t, "human", edited.GetSenderKind())
		deleted, err := h.messaging.DeleteMessage(asHuman("ann", false), &openintentv1.DeleteMessageRequest{ChannelId: id, MessageId: first.GetId()})
		require.NoError(t, err)
		require.Equal(t, "human", deleted.GetSenderKind())
	})
}
