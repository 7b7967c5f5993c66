package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// A message that is edited before the answer is cancelled and comes with its new content, as an event of its own.
func TestAnEditReplacesItsEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		question := s.asks(t, "ann", "bob", "old words")
		bob.accept(t, bob.next(t))
		s.edits(t, question, "new words", false)
		event, reason := bob.cancelled(t)
		require.Equal(t, []string{question.GetId(), "Message was edited before response"}, []string{event, reason})
		d := bob.next(t)
		require.Equal(t, question.GetId()+".2", d.event())
		require.Equal(t, []string{"new words"}, d.content())
		require.Equal(t, "must_respond", d.at("attention.policy"))
		bob.accept(t, d)

		// The new event takes its own answer.
		bob.tool(t, "chat.send_message", object{
			"target": object{"conversationId": s.channel}, "content": "Yes.", "inReplyTo": d.event(), "idempotencyKey": "k",
			"visibility": "dm", "directedness": "to_me",
		})
		s.edits(t, question, "newer words", true)
		d = bob.next(t)
		require.Equal(t, question.GetId()+".3", d.event())
		require.Equal(t, "edited_after_response", d.at("attention.reason"))
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
		bob := connect(t, &h.Clients, "bob", june24, every)
		question := s.asks(t, "ann", "bob", "never mind")
		bob.accept(t, bob.next(t))
		_, err := h.As("ann").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{ChannelId: s.channel, MessageId: question.GetId()})
		require.NoError(t, err)
		event, reason := bob.cancelled(t)
		require.Equal(t, []string{question.GetId(), "Message was deleted"}, []string{event, reason})
	})
}

// A request whose time runs out is cancelled.
func TestAnExpiredRequestIsCancelled(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		s.ready(t, bob)
		question := s.message(t, "ann", "bob", "quickly", func(r *openintentv1.SendMessageRequest) {
			r.MessageType, r.ExpiresInSeconds = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), new(2.5)
		})
		f := bob.incoming(t, "nothing comes")
		if f.Method == "chat/deliver" { // it came before its time was over
			bob.accept(t, bob.asDelivery(t, f))
			event, _ := bob.cancelled(t)
			require.Equal(t, question.GetId(), event)
		}
	})
}

// Somebody's reaction to the agent's own message is a knock, without what it says beside the signal.
func TestAReactionIsAKnock(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		said := bob.tool(t, "chat.send_message", object{
			"target": object{"conversationId": s.channel}, "content": "I will take it.", "idempotencyKey": "k",
			"visibility": "channel", "directedness": "ambient",
		})
		own, _ := said["eventId"].(string)
		for signal, policy := range map[string]string{"agree": "must_not_respond", "declined": "may_respond"} {
			_, err := h.As("ann").Reactions.AddReaction(t.Context(), &openintentv1.AddReactionRequest{
				ChannelId: s.channel, MessageId: own, Signal: signal, Note: new("the note of ann"),
			})
			require.NoError(t, err)
			d := bob.next(t)
			d.holds(t, object{
				"injection.mode": "notify", "attention.policy": policy, "attention.reason": "reaction", "knock.from": "agent:ann",
				"knock.topic": signal + " on your message in talk",
			})
			require.NotContains(t, d.text, "the note of ann")
			bob.accept(t, d)
			pulled := bob.tool(t, "chat.read_thread", object{"inReplyTo": d.event()})
			require.Contains(t, pulled["reactions"], object{"eventId": own, "from": "ann", "signal": signal, "note": "the note of ann"})
		}
	})
}
