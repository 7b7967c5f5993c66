package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestAQuestionIsDeliveredAndAnswered(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := dial(t, &h.Clients, harness.Key, "bob")
		said := bob.initialize(t, june2, every)
		require.Equal(t, june2, said["protocolVersion"])
		require.Equal(t, "bob", said["agent"])
		require.Contains(t, said["instructions"], "Obey response_policy.")

		question := s.asks(t, "ann", "bob", "Is the deploy blocked?")
		d := bob.next(t)
		require.Equal(t, question.GetId(), d.event())
		require.Equal(t, []string{"Is the deploy blocked?"}, d.content())
		d.holds(t, object{
			"conversation.kind": "dm", "conversation.id": s.channel, "conversation.streamId": s.intent, "author.id": "ann", "author.kind": "agent",
			"target.recipient": "agent:bob", "target.directedness": "to_me", "attention.policy": "must_respond",
			"attention.reason": "direct_request", "injection.mode": "buffered", "injection.role": "user", "reliability.attempt": 1.0,
			"reliability.idempotencyKey": question.GetId() + ":bob",
		})
		bob.accept(t, d)

		reply := object{
			"target": object{"conversationId": s.channel}, "content": []object{{"type": "text", "text": "No, it is out."}},
			"inReplyTo": d.event(), "idempotencyKey": "k1", "visibility": "dm", "directedness": "to_me",
		}
		sent := bob.tool(t, "chat.send_message", reply)
		require.Equal(t, sent, bob.tool(t, "chat.send_message", reply), "a retry is told the same")
		answers, err := h.As("ann").Messages.AwaitResponses(t.Context(), &openintentv1.AwaitResponsesRequest{
			ChannelId: s.channel, MessageId: question.GetId(), WaitSeconds: new(harness.Patience.Seconds()),
		})
		require.NoError(t, err)
		require.Len(t, answers.GetResponses(), 1)
		require.Equal(t, sent["eventId"], answers.GetResponses()[0].GetId())

		reply["content"], reply["idempotencyKey"] = "Something else.", "k2"
		require.Equal(t, "EVENT_ANSWERED", bob.refused(t, "chat.send_message", reply))
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
			"all":            {every["injection"].(object), []string{"immediate", "buffered", "notify", "digest", "tool_mailbox"}},
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
				bob := connect(t, &h.Clients, agent, june2, object{"injection": given.modes})
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
					d := bob.next(t)
					bob.accept(t, d)
					mode := d.at("injection.mode")
					require.Equal(t, given.expected[i], mode)
					if mode == "notify" || mode == "digest" {
						require.NotContains(t, d.text, secret)
					} else {
						require.Equal(t, []string{secret}, d.content())
					}
				}
				s.message(t, "ann", agent, "the end", urgent)
				d := bob.next(t)
				bob.accept(t, d)
				require.Equal(t, given.expected[0], d.at("injection.mode"))
			})
		}
	})
}

// The younger draft has six fields at the top, a content that is one text, and no ack_only.
func TestTheYoungerDraft(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june24, every)
		s.message(t, "ann", "bob", "for your information", nil)
		d := bob.next(t)
		d.holds(t, object{
			"addressedToMe": true, "policy": "may_respond", "content": "for your information", "conversation.kind": "dm", "injection.mode": "buffered",
		})
		bob.accept(t, d)
		s.role(t, "bob", "reviewer")
		s.message(t, "ann", "role:reviewer", "secret", nil)
		d = bob.next(t)
		require.Equal(t, "notify", d.at("injection.mode"))
		require.Equal(t, "notify in talk", d.at("knock.topic"))
		require.NotContains(t, d.text, "secret")
		bob.accept(t, d)
		s.message(t, "ann", "", "to everyone", nil)
		d = bob.next(t)
		require.Equal(t, []any{false, "must_not_respond", "channel"}, []any{d.at("addressedToMe"), d.at("policy"), d.at("conversation.kind")})
	})
}

// A harness that names a draft that nobody knows gets the nearest one.
func TestDraftsAreNegotiated(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	for given, expected := range map[string]string{
		june2: june2, june24: june24, "2026-06-10": june2, "2027-01-01": june24, "2020-01-01": june2,
	} {
		bob := dial(t, &h.Clients, harness.Key, "bob")
		require.Equal(t, expected, bob.initialize(t, given, nil)["protocolVersion"], given)
		again := bob.call(t, "initialize", object{"protocolVersion": given})
		require.Equal(t, "ALREADY_INITIALIZED", again.Error.Data.Reason)
		bob.leave()
		<-bob.over
	}
}
