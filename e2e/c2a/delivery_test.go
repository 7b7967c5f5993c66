package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestAQuestionIsDeliveredAndAnswered(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Dial(t, &h.Clients, harness.Key, "bob")
		said := bob.Initialize(t, played.June2, played.Every)
		require.Equal(t, played.June2, said["protocolVersion"])
		require.Equal(t, "bob", said["agent"])
		require.Contains(t, said["instructions"], "Obey response_policy.")

		question := s.asks(t, "ann", "bob", "Is the deploy blocked?")
		d := bob.Next(t)
		require.Equal(t, question.GetId(), d.Event())
		require.Equal(t, []string{"Is the deploy blocked?"}, d.Content())
		d.Holds(t, object{
			"conversation.kind": "dm", "conversation.id": s.channel, "conversation.streamId": s.intent, "author.id": "ann", "author.kind": "agent",
			"target.recipient": "agent:bob", "target.directedness": "to_me", "attention.policy": "must_respond",
			"attention.reason": "direct_request", "injection.mode": "buffered", "injection.role": "user", "reliability.attempt": 1.0,
			"reliability.idempotencyKey": question.GetId() + ":bob",
		})
		bob.Accept(t, d)

		reply := object{
			"target": object{"conversationId": s.channel}, "content": []object{{"type": "text", "text": "No, it is out."}},
			"inReplyTo": d.Event(), "idempotencyKey": "k1", "visibility": "dm", "directedness": "to_me",
		}
		sent := bob.Tool(t, "chat.send_message", reply)
		require.Equal(t, sent, bob.Tool(t, "chat.send_message", reply), "a retry is told the same")
		answers, err := h.As("ann").Messages.AwaitResponses(t.Context(), &openintentv1.AwaitResponsesRequest{
			ChannelId: s.channel, MessageId: question.GetId(), WaitSeconds: new(harness.Patience.Seconds()),
		})
		require.NoError(t, err)
		require.Len(t, answers.GetResponses(), 1)
		require.Equal(t, sent["eventId"], answers.GetResponses()[0].GetId())

		reply["content"], reply["idempotencyKey"] = "Something else.", "k2"
		require.Equal(t, "EVENT_ANSWERED", bob.Refused(t, "chat.send_message", reply))
	})
}

// How much of an event a model sees is what attention says, or less if the harness does not take that.
func TestModesFallToQuieterOnes(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		secret := "the payload of everything"
		for name, given := range map[string]struct {
			modes    object
			expected []string // of an urgent request, a direct message, one to the role, a status and a broadcast
		}{
			"all":            {played.Every["injection"].(object), []string{"immediate", "buffered", "notify", "digest", "tool_mailbox"}},
			"no immediate":   {object{"buffered": true, "notify": true, "digest": true, "tool_mailbox": true}, []string{"buffered", "buffered", "notify", "digest", "tool_mailbox"}},
			"knocks":         {object{"notify": true}, []string{"notify", "notify", "notify", "", ""}},
			"digests":        {object{"digest": true}, []string{"digest", "digest", "digest", "digest", ""}},
			"a mailbox":      {object{"tool_mailbox": true}, []string{"tool_mailbox", "tool_mailbox", "tool_mailbox", "tool_mailbox", "tool_mailbox"}},
			"loud ones only": {object{"immediate": true, "interrupt": true}, []string{"immediate", "", "", "", ""}},
		} {
			t.Run(name, func(t *testing.T) {
				agent := "bob with " + name // what is silent may come again on a later connection, which must not be another test's
				s.takesPart(t, agent)
				s.role(t, agent, "reviewer")
				bob := played.Connect(t, &h.Clients, agent, played.June2, object{"injection": given.modes})
				urgent := func(r *openintentv1.SendMessageRequest) {
					r.MessageType, r.Priority = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), openintentv1.Priority_PRIORITY_URGENT.Enum()
				}
				for i, send := range []func(){
					func() { s.message(t, "ann", agent, secret, urgent) },
					func() { s.message(t, "ann", agent, secret, nil) },
					func() { s.message(t, "ann", "role:reviewer", secret, nil) },
					func() {
						s.message(t, "ann", "", secret, func(r *openintentv1.SendMessageRequest) { r.Kind = new("status") })
					},
					func() { s.message(t, "ann", "", secret, nil) },
				} {
					send()
					if given.expected[i] == "" {
						continue // a later one that is delivered shows that this one was not
					}
					d := bob.Next(t)
					bob.Accept(t, d)
					mode := d.At("injection.mode")
					require.Equal(t, given.expected[i], mode)
					if mode == "notify" || mode == "digest" {
						require.NotContains(t, d.Text, secret)
					} else {
						require.Equal(t, []string{secret}, d.Content())
					}
				}
				s.message(t, "ann", agent, "the end", urgent)
				d := bob.Next(t)
				bob.Accept(t, d)
				require.Equal(t, given.expected[0], d.At("injection.mode"))
			})
		}
	})
}

// The younger draft has six fields at the top, a content that is one text, and no ack_only.
func TestTheYoungerDraft(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June24, played.Every)
		s.message(t, "ann", "bob", "for your information", nil)
		d := bob.Next(t)
		d.Holds(t, object{
			"addressedToMe": true, "policy": "may_respond", "content": "for your information", "conversation.kind": "dm", "injection.mode": "buffered",
		})
		bob.Accept(t, d)
		s.role(t, "bob", "reviewer")
		s.message(t, "ann", "role:reviewer", "secret", nil)
		d = bob.Next(t)
		require.Equal(t, "notify", d.At("injection.mode"))
		require.Equal(t, "notify in "+s.channel, d.At("knock.topic"), "ann is a stranger to bob")
		require.NotContains(t, d.Text, "secret")
		bob.Accept(t, d)
		s.message(t, "ann", "", "to everyone", nil)
		d = bob.Next(t)
		require.Equal(t, []any{false, "must_not_respond", "channel"}, []any{d.At("addressedToMe"), d.At("policy"), d.At("conversation.kind")})
	})
}

// A harness that names a draft that nobody knows gets the nearest one.
func TestDraftsAreNegotiated(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	for given, expected := range map[string]string{
		played.June2: played.June2, played.June24: played.June24, "2026-06-10": played.June2, "2027-01-01": played.June24, "2020-01-01": played.June2,
	} {
		bob := played.Dial(t, &h.Clients, harness.Key, "bob")
		require.Equal(t, expected, bob.Initialize(t, given, nil)["protocolVersion"], given)
		again := bob.Call(t, "initialize", object{"protocolVersion": given})
		require.Equal(t, "ALREADY_INITIALIZED", again.Error.Data.Reason)
		bob.Leave()
		<-bob.Over
	}
}

// A harness is told that a person wrote. What it sends itself is no person's word, whatever its key is.
func TestAPersonIsAnAuthorOfItsOwnKind(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		issue := func(agent string) string {
			issued, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{Label: agent, Agents: []string{agent}, Human: true})
			require.NoError(t, err)
			return issued.GetSecret()
		}
		s.takesPart(t, "kim")
		bob := played.Dial(t, &h.Clients, issue("bob"), "bob")
		bob.Initialize(t, played.June2, played.Every)
		_, err := h.With(issue("kim"), "").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
			ChannelId: s.channel, To: new("bob"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), Payload: &structpb.Struct{},
		})
		require.NoError(t, err)
		d := bob.Next(t)
		d.Holds(t, object{"author.id": "kim", "author.kind": "human"})
		bob.Accept(t, d)

		sent := bob.Tool(t, "chat.send_message", object{
			"target": object{"conversationId": s.channel}, "content": []object{{"type": "text", "text": "Gladly."}},
			"inReplyTo": d.Event(), "idempotencyKey": "k1", "visibility": "dm", "directedness": "to_me",
		})
		stored, err := h.Operator().Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{
			ChannelId: s.channel, MessageId: sent["eventId"].(string),
		})
		require.NoError(t, err)
		require.Nil(t, stored.SenderKind)
	})
}
