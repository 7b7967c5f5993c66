package messaging

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

func TestASenderEditsItsMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		sent := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("one"), Metadata: content("fact")})
		require.Nil(t, sent.Revision)
		edited, err := h.tryEdit(as("alice"), sent, &updateRequest{
			Payload: content("two"), Subject: ptr("words"), Mentions: texts("bob", "role:judge"),
		})
		require.NoError(t, err)
		require.Equal(t, "two", textOf(edited))
		require.Equal(t, "words", edited.GetSubject())
		require.Equal(t, []string{"bob", "role:judge"}, edited.GetMentions())
		require.EqualValues(t, 2, edited.GetRevision())
		require.True(t, edited.GetEditedAt().AsTime().After(edited.GetCreatedAt().AsTime()))
		require.Equal(t, []string{"payload", "subject", "mentions", "revision", "edited_at"}, cmpMessages(sent, edited))

		edited, err = h.tryEdit(asOperator(), sent, &updateRequest{Subject: ptr(""), Metadata: &structpb.Struct{}, AgentId: ptr("alice")})
		require.NoError(t, err)
		require.Equal(t, "two", textOf(edited), "what is not named stays")
		require.Nil(t, edited.Subject)
		require.Empty(t, edited.GetMetadata().GetFields())
		require.Equal(t, []string{"bob", "role:judge"}, edited.GetMentions())

		for _, got := range []*wireMessage{h.get(t, id, sent.GetId()), h.list(t, "bob", &listRequest{ChannelId: id})[0]} {
			require.Empty(t, cmpMessages(edited, got))
		}
		require.Equal(t, "two", textOf(h.inbox(t, "bob").GetItems()[0].GetMessage()))
		require.Equal(t, []string{"one", "two", "two"}, h.said(t, "bob", sent))
		made := h.annotations(t, sent)
		require.Len(t, made, 2)
		for i, one := range made {
			require.Equal(t, message.AnnotationEdit, one.Type)
			require.Equal(t, "alice", one.AgentID)
			require.Equal(t, i+2, one.Details.Revision)
		}
	})
}

func TestAnEditThatChangesNothingMakesNoRevision(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sent := h.say(t, "alice", h.open(t), "same")
		for _, change := range []*updateRequest{
			{Payload: content("same")}, {Subject: ptr("")}, {Mentions: texts()}, {Metadata: &structpb.Struct{}},
		} {
			got, err := h.tryEdit(as("alice"), sent, change)
			require.NoError(t, err)
			require.Empty(t, cmpMessages(sent, got))
		}
		require.Empty(t, h.annotations(t, sent))
		require.Equal(t, []string{"same"}, h.said(t, "bob", sent))
		require.Zero(t, h.allRevisionRows(t))
	})
}

func TestWhoMayEdit(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		open, private := h.say(t, "alice", id, "all"), h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("one")})
		change := func() *updateRequest { return &updateRequest{Payload: content("forged")} }
		for _, agent := range []string{"bob", "creator"} {
			_, err := h.tryEdit(as(agent), open, change())
			faulttest.Require(t, err, fault.Denied, "NOT_THE_SENDER")
		}
		_, err := h.tryEdit(asOperator(), open, change())
		faulttest.Require(t, err, fault.Denied, "NOT_THE_SENDER")
		_, err = h.tryEdit(as("carol"), private, change())
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryRevisions(as("carol"), private)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		named := change()
		named.AgentId = ptr("alice")
		_, err = h.tryEdit(as("bob"), open, named)
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		require.Equal(t, "all", textOf(h.get(t, id, open.GetId())))
	})
}

func TestAnUpdateReadsOrEdits(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sent := h.say(t, "alice", h.open(t), "words")
		many := make([]string, message.MaxMentions+1)
		for i := range many {
			many[i] = fmt.Sprint("agent-", i)
		}
		for _, c := range []struct {
			change *updateRequest
			field  string
		}{
			{&updateRequest{}, "status"},
			{&updateRequest{Supersede: true}, "supersede"},
			{&updateRequest{Status: read, Payload: content("x")}, "payload"},
			{&updateRequest{Status: read, Subject: ptr("")}, "subject"},
			{&updateRequest{Status: read, Mentions: texts()}, "mentions"},
			{&updateRequest{Status: read, Metadata: content("x")}, "metadata"},
			{&updateRequest{Status: read, Supersede: true}, "supersede"},
			{&updateRequest{Subject: ptr("a\x00b")}, "subject"},
			{&updateRequest{Mentions: texts(many...)}, "mentions"},
			{&updateRequest{Subject: ptr("two\nlines")}, "subject"},
			{&updateRequest{Mentions: texts("a/b")}, "mentions[0]"},
			{&updateRequest{Mentions: texts("bob", "role:")}, "mentions[1]"},
			{&updateRequest{Mentions: texts("bob", "bob")}, "mentions[1]"},
			{&updateRequest{Mentions: &structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1)}}}, "mentions[0]"},
		} {
			_, err := h.tryEdit(as("alice"), sent, c.change)
			require.Equal(t, fault.Invalid, fault.From(err).Kind, c.field)
			require.Equal(t, c.field, fault.From(err).Fields[0].Path)
		}
	})
}

func TestEditsThatComeTooLate(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		question := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Payload: content("?"), ExpiresAt: h.in(time.Hour),
		})
		h.edit(t, "alice", question, "??")
		h.reply(t, "bob", id, question.GetId(), "!")
		_, err := h.tryEdit(as("alice"), question, &updateRequest{Payload: content("???")})
		faulttest.Require(t, err, fault.Conflict, "ANSWERED")
		got, err := h.tryEdit(as("alice"), question, &updateRequest{Payload: content("???"), Supersede: true})
		require.NoError(t, err)
		require.Equal(t, "???", textOf(got))
		h.clock.Advance(time.Hour)
		_, err = h.tryEdit(as("alice"), question, &updateRequest{Payload: content("????"), Supersede: true})
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")

		said := h.say(t, "alice", id, "words")
		h.closeChannel(t, id)
		_, err = h.tryEdit(as("alice"), said, &updateRequest{Payload: content("late")})
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		require.Equal(t, []string{"words"}, h.said(t, "bob", said), "reading goes on")
	})
}

func TestEditsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		sent := h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content(strings.Repeat("p", 600)), Metadata: content("m")})
		_, err := h.tryEdit(as("alice"), sent, &updateRequest{Metadata: content(strings.Repeat("m", 600))})
		faulttest.Require(t, err, fault.TooLarge, "PAYLOAD_TOO_LARGE")
		edits := 0
		for err = nil; err == nil; edits++ {
			_, err = h.tryEdit(as("alice"), sent, &updateRequest{Payload: content(fmt.Sprint(edits, strings.Repeat("p", 600)))})
		}
		faulttest.Require(t, err, fault.Conflict, "TOO_MANY_REVISIONS")
		require.Equal(t, 6, edits, "what was sent and five edits fit")

		small := h.say(t, "alice", id, "1")
		for n := 2; n <= maxRevisions; n++ {
			require.EqualValues(t, n, h.edit(t, "alice", small, strings.Repeat("x", n%2)).GetRevision())
		}
		_, err = h.tryEdit(as("alice"), small, &updateRequest{Payload: content("one too many")})
		faulttest.Require(t, err, fault.Conflict, "TOO_MANY_REVISIONS")

		quota := caller.NewQuota(caller.Rates{MessagesPerSecond: 1})
		poor := caller.NewContext(t.Context(), caller.Caller{Agent: "alice", KeyID: "key", Quota: quota})
		last := h.say(t, "alice", id, "last")
		_, err = h.tryEdit(poor, last, &updateRequest{Payload: content("a")})
		require.NoError(t, err)
		_, err = h.tryEdit(poor, last, &updateRequest{Payload: content("b")})
		faulttest.Require(t, err, fault.Quota, "QUOTA_EXCEEDED")
	}, func(_ *configOfDatabase, cfg *Config) { cfg.MaxPayloadBytes = 1000 })
}

func TestARepeatedSendGetsTheFirstAnswer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		send := func() *wireMessage {
			return h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content("first"), IdempotencyKey: ptr("k")})
		}
		sent := send()
		h.edit(t, "alice", sent, "second")
		require.Empty(t, cmpMessages(sent, send()))
		h.erase(t, "alice", sent)
		require.Empty(t, cmpMessages(sent, send()))
	})
}

func TestAnAskerGetsTheNewestAnswer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		question := h.asks(t, "alice", id, "bob")
		answer := h.reply(t, "bob", id, question.GetId(), "draft")
		h.edit(t, "bob", answer, "final")
		got, err := h.awaits(t, "alice", question)
		require.NoError(t, err)
		require.Equal(t, []string{"final"}, textsOf(got))
		require.EqualValues(t, 2, got[0].GetRevision())
	})
}

func TestAnAuditedEditIsLogged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		sent := h.say(t, "alice", id, "one")
		h.edit(t, "alice", sent, "two")
		h.edit(t, "alice", sent, "three")
		list, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
			IntentId: h.channel(t, id).GetIntentId(), EventType: ptr("channel_message_edited"), Order: ptr("asc"),
		})
		require.NoError(t, err)
		require.Len(t, list.GetEvents(), 2)
		for i, text := range []string{"two", "three"} {
			event := list.GetEvents()[i]
			require.Equal(t, "alice", event.GetActor())
			require.Equal(t, map[string]any{
				"channel_id": id, "channel_name": "talk", "message_id": sent.GetId(), "message_type": "notify", "to": nil,
				"payload": map[string]any{"text": text}, "revision": float64(i + 2),
			}, event.GetPayload().AsMap())
		}
		require.Len(t, h.copies(t, id), 1, "the copy of the message stays as it is")
		h.requireChain(t, id)
	})
}
