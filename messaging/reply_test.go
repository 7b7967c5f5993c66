package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestReplyIsAResponseToTheAsker(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.asks(t, "alice", id, "bob")
		answer, err := h.messaging.ReplyMessage(as("bob"), &replyRequest{
			ChannelId: id, MessageId: asked.GetId(), Payload: content("yes"), Metadata: content("sure"), ExpiresAt: h.in(time.Hour),
		})
		require.NoError(t, err)
		require.Equal(t, response, answer.GetMessageType())
		require.Equal(t, "alice", answer.GetTo())
		require.Equal(t, asked.GetId(), answer.GetCorrelationId())
		require.Equal(t, "sure", answer.GetMetadata().GetFields()["text"].GetStringValue())
		require.Equal(t, h.clock.Now().Add(time.Hour), answer.GetExpiresAt().AsTime())
		require.Empty(t, cmpMessages(answer, h.get(t, id, answer.GetId())))
		require.True(t, h.sees(t, "alice", answer))
		require.False(t, h.sees(t, "carol", answer))
	})
}

func TestWhoMayReply(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, other := h.explicit(t, "alice", "bob", "carol"), h.explicit(t, "alice", "bob", "carol")
		asked := h.asks(t, "alice", id, "bob")
		note := h.say(t, "alice", id, "no question")
		answer := h.reply(t, "bob", id, asked.GetId(), "first")
		for _, row := range []struct {
			name    string
			caller  context.Context
			channel string
			message string
			kind    fault.Kind
			reason  string
			byHand  string // the reason when sent as a response, if it differs
		}{
			{"its sender", as("alice"), id, asked.GetId(), fault.Denied, "OWN_REQUEST", ""},
			{"who cannot see it", as("carol"), id, asked.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND", "INVALID_FIELD"},
			{"who is no member", as("dave"), id, asked.GetId(), fault.Denied, "NOT_A_MEMBER", ""},
			{"no message", as("bob"), id, aMessageID, fault.NotFound, "MESSAGE_NOT_FOUND", "INVALID_FIELD"},
			{"nonsense", as("bob"), id, "nonsense", fault.NotFound, "MESSAGE_NOT_FOUND", "INVALID_FIELD"},
			{"on another channel", as("bob"), other, asked.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND", "INVALID_FIELD"},
			{"a notify", as("bob"), id, note.GetId(), fault.Invalid, "NOT_A_REQUEST", ""},
			{"a response", as("alice"), id, answer.GetId(), fault.Invalid, "NOT_A_REQUEST", ""},
			{"a response that one cannot see", as("carol"), id, answer.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND", "INVALID_FIELD"},
		} {
			_, err := h.tryReply(row.caller, row.channel, row.message, "")
			require.Error(t, err, row.name)
			faulttest.Require(t, err, row.kind, row.reason)
			_, err = h.messaging.SendMessage(row.caller, &sendRequest{
				ChannelId: row.channel, MessageType: ptr(response), CorrelationId: &row.message,
			})
			require.Error(t, err, row.name)
			if row.byHand == "" {
				faulttest.Require(t, err, row.kind, row.reason)
			} else {
				faulttest.RequireBadField(t, err, "correlation_id")
			}
		}
		require.Equal(t, int64(3), h.channel(t, id).GetMessageCount())

		h.closeChannel(t, id)
		_, err := h.tryReply(as("bob"), id, asked.GetId(), "")
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
	})
}

func TestARequestTakesSeveralResponses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "tester")
		asked := h.asks(t, "alice", id, "role:tester")
		_, err := h.tryReply(as("carol"), id, asked.GetId(), "not yet one of them")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		h.clock.Advance(time.Second)
		h.register(t, "carol", "tester")
		h.clock.Advance(time.Second)
		one := h.reply(t, "bob", id, asked.GetId(), "one")
		two := h.reply(t, "bob", id, asked.GetId(), "two")
		h.clock.Advance(time.Second)
		h.register(t, "dave", "tester")
		_, err = h.tryReply(as("dave"), id, asked.GetId(), "too late to be one of them")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		three := h.reply(t, "carol", id, asked.GetId(), "roles are those of now")
		h.register(t, "bob", "writer")
		_, err = h.tryReply(as("bob"), id, asked.GetId(), "no longer one of them")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		operator, err := h.tryReply(asOperator(), id, asked.GetId(), "the operator may do whatever anyone may")
		require.NoError(t, err)
		require.Equal(t, caller.Operator, operator.GetSender())
		got, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{ChannelId: id, MessageId: asked.GetId()})
		require.NoError(t, err)
		require.Equal(t, []string{one.GetId(), two.GetId(), three.GetId(), operator.GetId()}, idsOf(got.GetResponses()))
		for _, m := range got.GetResponses() {
			require.Equal(t, asked.GetId(), m.GetCorrelationId())
			require.Equal(t, "alice", m.GetTo())
		}
	})
}

func TestNoReplyAfterTheExpiry(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		send := func() *wireMessage {
			return h.send(t, "alice", &sendRequest{
				ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute),
			})
		}
		open, answered := send(), send()
		h.reply(t, "bob", id, answered.GetId(), "")
		h.clock.Advance(time.Minute - time.Microsecond)
		last := h.reply(t, "bob", id, answered.GetId(), "the last moment")
		require.True(t, last.GetCreatedAt().AsTime().Before(answered.GetExpiresAt().AsTime()))
		h.clock.Advance(time.Microsecond)
		for _, m := range []*wireMessage{open, answered} {
			_, err := h.tryReply(as("bob"), id, m.GetId(), "")
			f := faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
			require.Equal(t, m.GetId(), f.Metadata["message_id"])
		}
		require.Equal(t, expired, h.get(t, id, open.GetId()).GetStatus())
		require.Equal(t, delivered, h.get(t, id, answered.GetId()).GetStatus())
	})
}

// A response is judged by whether its sender received the request, so membership of the asker does not matter.
func TestResponseTargetNeedsNoMembership(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		asked := h.asks(t, "alice", id, "bob")
		h.removeMember(t, id, "alice")
		answer := h.reply(t, "bob", id, asked.GetId(), "yes")
		require.Equal(t, "alice", answer.GetTo())
	})
}
