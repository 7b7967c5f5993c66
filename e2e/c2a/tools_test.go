package c2a

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestTheSevenToolsAreListed(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	bob := played.Connect(t, &h.Clients, "bob", played.June2, nil)
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       object
			Annotations       struct {
				ReadOnlyHint, IdempotentHint bool
			}
		}
	}
	require.NoError(t, json.Unmarshal(bob.Call(t, "tools/list", object{}).Result, &list))
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Description)
		require.Equal(t, "object", tool.InputSchema["type"])
		require.True(t, tool.Annotations.IdempotentHint)
	}
	require.Equal(t, []string{
		"chat.list_events", "chat.read_thread", "chat.send_message", "chat.react", "chat.claim", "chat.defer", "chat.resolve",
	}, names)
}

// A question to a role knocks at both reviewers. One claims it, pulls it and answers it; the other is kept from it.
func TestARoleIsKnockedAtAndOneAnswers(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		s.takesPart(t, "carl")
		s.role(t, "bob", "reviewer")
		s.role(t, "carl", "reviewer")
		bob, carl := played.Connect(t, &h.Clients, "bob", played.June2, played.Every), played.Connect(t, &h.Clients, "carl", played.June24, played.Every)
		one := func(r *openintentv1.SendMessageRequest) {
			r.MessageType, r.Collect = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), collectOne
		}
		question := s.message(t, "ann", "role:reviewer", "May it go out?", one)
		for _, reviewer := range []*played.Harness{bob, carl} {
			d := reviewer.Next(t)
			require.Equal(t, question.GetId(), d.Event())
			require.Equal(t, "notify", d.At("injection.mode"))
			require.NotContains(t, d.Text, "May it go out?")
			reviewer.Accept(t, d)
		}
		answer := func(words string) object {
			return object{
				"target": object{"conversationId": s.channel}, "content": words, "inReplyTo": question.GetId(), "idempotencyKey": words,
				"visibility": "dm", "directedness": "to_me",
			}
		}
		require.Equal(t, "CLAIM_REQUIRED", bob.Refused(t, "chat.send_message", answer("Too early.")))
		require.Equal(t, "bob", bob.Tool(t, "chat.claim", object{"inReplyTo": question.GetId()})["holder"])
		held := bob.Tool(t, "chat.claim", object{"inReplyTo": question.GetId(), "ttlSeconds": 3000})
		ends, err := time.Parse(time.RFC3339, held["expiresAt"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(3000*time.Second), ends, harness.Patience)
		require.Equal(t, "CLAIMED", carl.Refused(t, "chat.claim", object{"inReplyTo": question.GetId()}))
		pulled := bob.Tool(t, "chat.read_thread", object{"inReplyTo": question.GetId()})
		require.Contains(t, pulled["events"].([]any)[0].(object)["content"], object{"type": "text", "text": "May it go out?"})
		require.Equal(t, "bob", pulled["claim"].(object)["holder"])
		require.Equal(t, held["expiresAt"], pulled["claim"].(object)["expiresAt"])
		require.Equal(t, object{"eventId": question.GetId(), "released": true}, bob.Tool(t, "chat.claim", object{"inReplyTo": question.GetId(), "release": true}))
		require.Equal(t, "CLAIM_LOST", bob.Refused(t, "chat.claim", object{"inReplyTo": question.GetId(), "release": true}))
		require.Equal(t, "bob", bob.Tool(t, "chat.claim", object{"inReplyTo": question.GetId()})["holder"])
		bob.Tool(t, "chat.send_message", answer("It may."))
		require.NotEmpty(t, carl.Refused(t, "chat.send_message", answer("Wait.")))
	})
}

// What an agent may choose when it writes, and what becomes of it.
func TestChoicesOfASender(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		s.takesPart(t, "carl")
		s.role(t, "carl", "reviewer")
		carl := played.Connect(t, &h.Clients, "carl", played.June2, played.Every)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		send := func(target object, visibility, directedness string) object {
			target["conversationId"] = s.channel
			return object{
				"target": target, "content": "a message for @ann", "idempotencyKey": visibility + directedness,
				"visibility": visibility, "directedness": directedness,
			}
		}
		for _, given := range []struct {
			target                   object
			visibility, directedness string
			holds                    object
		}{
			{object{"recipient": "agent:carl"}, "dm", "to_me", object{"target.directedness": "to_me", "attention.policy": "must_respond", "conversation.kind": "dm"}},
			{object{"recipient": "carl"}, "dm", "ambient", object{"target.directedness": "ambient", "attention.policy": "must_not_respond"}},
			{object{"recipient": "agent:carl"}, "channel", "to_me", object{"target.directedness": "to_me", "attention.reason": "mention"}},
			{object{"recipient": "role:reviewer"}, "channel", "to_my_role", object{"target.directedness": "to_my_role", "attention.policy": "may_respond", "injection.mode": "notify"}},
			{object{}, "channel", "ambient", object{"target.directedness": "ambient", "attention.policy": "must_not_respond", "injection.mode": "tool_mailbox"}},
		} {
			sent := bob.Tool(t, "chat.send_message", send(given.target, given.visibility, given.directedness))
			d := carl.Next(t)
			require.Equal(t, sent["eventId"], d.Event())
			d.Holds(t, given.holds)
			require.NotContains(t, d.Text, `"agent:ann"`, "a name in the text obliges nobody")
			carl.Accept(t, d)
		}
		for _, refused := range []struct {
			target                           object
			visibility, directedness, reason string
		}{
			{object{}, "ephemeral", "ambient", "VISIBILITY_NOT_SUPPORTED"},
			{object{}, "dm", "to_me", "INVALID_FIELD"},
			{object{"recipient": "role:reviewer"}, "dm", "to_me", "INVALID_FIELD"},
			{object{"recipient": "agent:carl"}, "dm", "to_my_role", "INVALID_FIELD"},
			{object{}, "thread", "ambient", "INVALID_FIELD"},
			{object{}, "channel", "to_other", "INVALID_FIELD"},
			{object{}, "channel", "to_me", "INVALID_FIELD"},
			{object{}, "channel", "to_my_role", "INVALID_FIELD"},
			{object{}, "shout", "ambient", "INVALID_FIELD"},
		} {
			require.Equal(t, refused.reason, bob.Refused(t, "chat.send_message", send(refused.target, refused.visibility, refused.directedness)), "%v", refused)
		}
		question := s.asks(t, "carl", "bob", "Is it done?")
		for _, refused := range [][3]string{
			{"ephemeral", "to_me", "VISIBILITY_NOT_SUPPORTED"}, {"shout", "to_me", "INVALID_FIELD"}, {"dm", "to_other", "INVALID_FIELD"},
		} {
			answer := send(object{}, refused[0], refused[1])
			answer["inReplyTo"] = question.GetId()
			require.Equal(t, refused[2], bob.Refused(t, "chat.send_message", answer), "an answer says where it is seen, too")
		}
		whole := send(object{}, "channel", "ambient")
		for _, missing := range []string{"target", "content", "idempotencyKey", "visibility", "directedness"} {
			given := object{}
			for name, value := range whole {
				if name != missing {
					given[name] = value
				}
			}
			require.Equal(t, "INVALID_FIELD", bob.Refused(t, "chat.send_message", given), missing)
		}
	})
}

// Signals and dispositions discharge an event without a message, and its sender sees them.
func TestAnEventIsDischargedWithoutAMessage(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		question := s.asks(t, "ann", "bob", "When?")
		event := bob.Next(t).Event()
		delivery := func() *openintentv1.MessageDelivery {
			t.Helper()
			page, err := h.As("ann").Messages.ListMessageDeliveries(t.Context(), &openintentv1.ListMessageDeliveriesRequest{
				ChannelId: s.channel, MessageId: question.GetId(),
			})
			require.NoError(t, err)
			require.Len(t, page.GetDeliveries(), 1)
			return page.GetDeliveries()[0]
		}
		disposed := func() string { return delivery().GetDisposition() }
		// stands says once more what is so already, by which nothing changes.
		stands := func(reason string, until *timestamppb.Timestamp) {
			t.Helper()
			before := delivery()
			_, err := h.As("bob").Attention.SetDisposition(t.Context(), &openintentv1.SetDispositionRequest{
				ChannelId: s.channel, MessageId: question.GetId(), Disposition: before.GetDisposition(), Reason: &reason, Until: until,
			})
			require.NoError(t, err)
			require.Equal(t, before.GetDisposedAt().AsTime(), delivery().GetDisposedAt().AsTime())
		}
		bob.Tool(t, "chat.react", object{"inReplyTo": event, "signal": "queued", "note": "first the tests", "eta": "after the deploy completes"})
		require.Equal(t, "deferred", disposed())
		pulled := bob.Tool(t, "chat.read_thread", object{"inReplyTo": event})
		require.Equal(t, []any{object{
			"eventId": question.GetId(), "from": "bob", "signal": "queued", "note": "first the tests", "eta": "after the deploy completes",
		}}, pulled["reactions"])
		bob.Tool(t, "chat.react", object{"inReplyTo": event, "signal": "seen"})
		require.Equal(t, "acknowledged", disposed())
		bob.Tool(t, "chat.defer", object{"inReplyTo": event, "reason": "needs input", "until": "2030-01-01T13:00:00Z"})
		require.Equal(t, "deferred", disposed())
		stands("needs input", timestamppb.New(time.Date(2030, 1, 1, 13, 0, 0, 0, time.UTC)))
		bob.Tool(t, "chat.resolve", object{"inReplyTo": event})
		require.Equal(t, "responded", disposed())
		bob.Tool(t, "chat.resolve", object{"inReplyTo": event, "disposition": "ignored", "reason": "not for me"})
		require.Equal(t, "ignored", disposed())
		stands("not for me", nil)
		ann := played.Connect(t, &h.Clients, "ann", played.June2, played.Every)
		owed := s.message(t, "ann", "bob", "I wait for this", func(r *openintentv1.SendMessageRequest) {
			r.MessageType, r.Obligation = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), &openintentv1.Obligation{}
		})
		require.Equal(t, "discharged", ann.Tool(t, "chat.resolve", object{"inReplyTo": owed.GetId(), "reason": "I did it"})["disposition"])
		listed, err := h.As("bob").Obligations.ListObligations(t.Context(), &openintentv1.ListObligationsRequest{AgentId: "bob"})
		require.NoError(t, err)
		require.Empty(t, listed.GetMessages())
		require.Equal(t, "INVALID_FIELD", bob.Refused(t, "chat.react", object{"inReplyTo": event, "signal": "shout"}))
		require.Equal(t, "INVALID_FIELD", bob.Refused(t, "chat.defer", object{"inReplyTo": event, "reason": "x", "until": "tomorrow"}))
		require.Equal(t, "MESSAGE_NOT_FOUND", bob.Refused(t, "chat.react", object{"inReplyTo": "evt_123", "signal": "seen"}))
	})
}

// The list of events is the inbox, by policy, stream, conversation and time, or a conversation.
func TestEventsAreListed(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, object{"injection": object{}})
		question := s.asks(t, "ann", "bob", "which?")
		told := s.message(t, "ann", "bob", "this", nil)
		all := s.message(t, "ann", "", "to everyone", nil)
		events := func(given object) (ids []any) {
			t.Helper()
			for _, event := range bob.Tool(t, "chat.list_events", given)["events"].([]any) {
				ids = append(ids, event.(object)["eventId"])
			}
			return ids
		}
		require.Equal(t, []any{question.GetId(), told.GetId(), all.GetId()}, events(nil))
		require.Equal(t, []any{question.GetId()}, events(object{"policy": "must_respond"}))
		require.Equal(t, []any{told.GetId(), all.GetId()}, events(object{"conversationId": s.channel, "since": question.GetId()}))
		stored := question.GetCreatedAt().AsTime().Format(time.RFC3339Nano)
		require.Equal(t, []any{told.GetId(), all.GetId()}, events(object{"conversationId": s.channel, "since": stored}))
		require.Equal(t, []any{told.GetId(), all.GetId()}, events(object{"since": stored}))
		require.Equal(t, []any{question.GetId(), told.GetId(), all.GetId()}, events(object{"streamId": s.intent}))
		require.Empty(t, events(object{"streamId": "another"}))
		require.Empty(t, events(object{"since": "2100-01-01T00:00:00Z"}))
		page := bob.Tool(t, "chat.list_events", object{"limit": 2})
		require.Len(t, page["events"], 2)
		require.Equal(t, []any{all.GetId()}, events(object{"cursor": page["nextCursor"]}))
		last := s.message(t, "ann", "bob", "that", nil)
		page = bob.Tool(t, "chat.list_events", object{"since": stored, "limit": 2}) // the question is not wanted and takes no place
		require.Len(t, page["events"], 2)
		require.Equal(t, []any{last.GetId()}, events(object{"cursor": page["nextCursor"]}))
		require.Equal(t, "INVALID_FIELD", bob.Refused(t, "chat.list_events", object{"since": "yesterday"}))
		require.Equal(t, "INVALID_FIELD", bob.Refused(t, "chat.list_events", object{"limit": 0}))

		pages := func(given object) (ids []any) {
			t.Helper()
			for n := 0; n < 10 && given["cursor"] != ""; n++ {
				page := bob.Tool(t, "chat.read_thread", given)
				for _, event := range page["events"].([]any) {
					ids = append(ids, event.(object)["eventId"])
				}
				if given["cursor"], _ = page["nextCursor"].(string); len(page["events"].([]any)) == 0 {
					break
				}
			}
			return ids
		}
		require.Equal(t, []any{told.GetId(), all.GetId(), last.GetId()}, pages(object{"conversationId": s.channel, "limit": 2, "cursor": question.GetId()}))
		var below []any
		for range 3 {
			below = append(below, s.message(t, "ann", "", strings.Repeat("long ", 100), func(r *openintentv1.SendMessageRequest) { r.ParentId = new(told.GetId()) }).GetId())
		}
		require.Equal(t, append([]any{told.GetId()}, below...), pages(object{"inReplyTo": below[2], "limit": 2}), "what the thread is about comes once")
		cut := bob.Tool(t, "chat.read_thread", object{"inReplyTo": told.GetId(), "maxBytes": 200})["events"].([]any)[1].(object)
		require.EqualValues(t, 500, cut["cutFromBytes"])
		require.Len(t, cut["content"].([]any)[0].(object)["text"], 200)
	})
}
