package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// A message that is edited before the answer is cancelled and comes with its new content, as an event of its own.
func TestAnEditReplacesItsEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		question := s.asks(t, "ann", "bob", "old words")
		bob.Accept(t, bob.Next(t))
		s.edits(t, question, "new words", false)
		event, reason := bob.Cancelled(t)
		require.Equal(t, []string{question.GetId(), "Message was edited before response"}, []string{event, reason})
		d := bob.Next(t)
		require.Equal(t, question.GetId()+".2", d.Event())
		require.Equal(t, []string{"new words"}, d.Content())
		require.Equal(t, "must_respond", d.At("attention.policy"))
		bob.Accept(t, d)

		// The new event takes its own answer.
		bob.Tool(t, "chat.send_message", object{
			"target": object{"conversationId": s.channel}, "content": "Yes.", "inReplyTo": d.Event(), "idempotencyKey": "k",
			"visibility": "dm", "directedness": "to_me",
		})
		s.edits(t, question, "newer words", true)
		d = bob.Next(t)
		require.Equal(t, question.GetId()+".3", d.Event())
		require.Equal(t, "edited_after_response", d.At("attention.reason"))
	})
}

func (s *scene) edits(t *testing.T, m *openintentv1.Message, text string, supersede bool) {
	t.Helper()
	_, err := s.As("ann").Messages.UpdateMessage(t.Context(), &openintentv1.UpdateMessageRequest{
		ChannelId: s.channel, MessageId: m.GetId(), Supersede: supersede,
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}},
	})
	require.NoError(t, err)
}

func TestADeletionCancelsItsEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June24, played.Every)
		for _, edited := range []bool{false, true} {
			question := s.asks(t, "ann", "bob", "never mind")
			bob.Accept(t, bob.Next(t))
			came := question.GetId()
			if edited {
				s.edits(t, question, "it does not matter", false)
				event, _ := bob.Cancelled(t)
				require.Equal(t, came, event)
				bob.Accept(t, bob.Next(t))
				came += ".2"
			}
			_, err := h.As("ann").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{ChannelId: s.channel, MessageId: question.GetId()})
			require.NoError(t, err)
			event, reason := bob.Cancelled(t)
			require.Equal(t, []string{came, "Message was deleted"}, []string{event, reason})
		}
	})
}

// Everyone who holds the role hears that a request to it was deleted, whether or not it was claimed.
func TestADeletionCancelsItsEventForTheRole(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		s.role(t, "bob", "reviewer")
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		question := s.asks(t, "ann", "role:reviewer", "never mind")
		bob.Accept(t, bob.Next(t))
		_, err := h.As("ann").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{ChannelId: s.channel, MessageId: question.GetId()})
		require.NoError(t, err)
		event, reason := bob.Cancelled(t)
		require.Equal(t, []string{question.GetId(), "Message was deleted"}, []string{event, reason})
	})
}

// A request whose time runs out is cancelled.
func TestAnExpiredRequestIsCancelled(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		s.ready(t, bob)
		question := s.message(t, "ann", "bob", "quickly", func(r *openintentv1.SendMessageRequest) {
			r.MessageType, r.ExpiresInSeconds = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), new(2.5)
		})
		f := bob.Incoming(t, "nothing comes")
		if f.Method == "chat/deliver" { // it came before its time was over
			bob.Accept(t, bob.AsDelivery(t, f))
			event, _ := bob.Cancelled(t)
			require.Equal(t, question.GetId(), event)
		}
	})
}

// Somebody's reaction to the agent's own message is a knock, without what it says beside the signal.
func TestAReactionIsAKnock(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		said := bob.Tool(t, "chat.send_message", object{
			"target": object{"conversationId": s.channel}, "content": "I will take it.", "idempotencyKey": "k",
			"visibility": "channel", "directedness": "ambient",
		})
		own, _ := said["eventId"].(string)
		for signal, policy := range map[string]string{"agree": "must_not_respond", "declined": "may_respond"} {
			_, err := h.As("ann").Reactions.AddReaction(t.Context(), &openintentv1.AddReactionRequest{
				ChannelId: s.channel, MessageId: own, Signal: signal, Note: new("the note of ann"),
			})
			require.NoError(t, err)
			d := bob.Next(t)
			d.Holds(t, object{
				"injection.mode": "notify", "attention.policy": policy, "attention.reason": "reaction", "knock.from": "agent:ann",
				"knock.topic": signal + " on your message in talk",
			})
			require.NotContains(t, d.Text, "the note of ann")
			bob.Accept(t, d)
			pulled := bob.Tool(t, "chat.read_thread", object{"inReplyTo": d.Event()})
			require.Contains(t, pulled["reactions"], object{"eventId": own, "from": "ann", "signal": signal, "note": "the note of ann"})
		}
	})
}
