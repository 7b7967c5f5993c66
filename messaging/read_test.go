package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestTheFirstAcknowledgementSetsReadAt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		m := h.say(t, "alice", id, "")
		h.clock.Advance(time.Second)
		firstAt := h.clock.Now()
		marked, err := h.tryRead(as("bob"), id, m.GetId())
		require.NoError(t, err)
		require.Equal(t, read, marked.GetStatus())
		require.Equal(t, firstAt, marked.GetReadAt().AsTime())
		require.Empty(t, cmpMessages(marked, h.get(t, id, m.GetId())))

		h.clock.Advance(time.Second)
		for _, agent := range []string{"bob", "carol", "carol"} {
			again, err := h.tryRead(as(agent), id, m.GetId())
			require.NoError(t, err)
			require.Equal(t, firstAt, again.GetReadAt().AsTime(), "the first acknowledgement counts")
		}
		key := h.key(t, id)
		require.Equal(t, 2, h.rows(t, "receipts", "intent_no = ?", key.IntentNo), "one receipt for each reader")
		at := func(agent string) int {
			return h.rows(t, "receipts", "intent_no = ? AND agent_id = ? AND read_at = ?",
				key.IntentNo, agent, firstAt.UnixMicro())
		}
		require.Equal(t, 1, at("bob"))
		require.Equal(t, 0, at("carol"))
	})
}

func TestWhoMayAcknowledge(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob", "carol", "tess")
		h.register(t, "tess", "tester")
		direct := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		toRole := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester")})
		toAll := h.say(t, "alice", id, "")
		for _, row := range []struct {
			name    string
			caller  context.Context
			message *wireMessage
			kind    fault.Kind
			reason  string
		}{
			{"the addressee", as("bob"), direct, 0, ""},
			{"another member", as("carol"), direct, fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"its sender", as("alice"), direct, fault.Denied, "OWN_MESSAGE"},
			{"a stranger", as("dave"), direct, fault.Denied, "NOT_A_MEMBER"},
			{"the operator", asOperator(), direct, 0, ""},
			{"a holder of the role", as("tess"), toRole, 0, ""},
			{"a member without the role", as("bob"), toRole, fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"the sender to a role", as("alice"), toRole, fault.Denied, "OWN_MESSAGE"},
			{"a member", as("carol"), toAll, 0, ""},
			{"the sender to everyone", as("alice"), toAll, fault.Denied, "OWN_MESSAGE"},
		} {
			_, err := h.tryRead(row.caller, id, row.message.GetId())
			if row.reason == "" {
				require.NoError(t, err, row.name)
			} else {
				require.Error(t, err, row.name)
				faulttest.Require(t, err, row.kind, row.reason)
			}
		}

		mark := func(agent string, m *wireMessage) error {
			_, err := h.messaging.UpdateMessage(asOperator(), &openintentv1.UpdateMessageRequest{
				ChannelId: id, MessageId: m.GetId(), Status: read, AgentId: &agent,
			})
			return err
		}
		require.NoError(t, mark("bob", toAll), "the operator for a recipient")
		faulttest.Require(t, mark("alice", toAll), fault.Denied, "OWN_MESSAGE")
		faulttest.Require(t, mark("carol", direct), fault.NotFound, "MESSAGE_NOT_FOUND")
		faulttest.Require(t, mark("dave", toAll), fault.Denied, "NOT_A_MEMBER")
		_, err := h.messaging.UpdateMessage(as("bob"), &openintentv1.UpdateMessageRequest{
			ChannelId: id, MessageId: toAll.GetId(), Status: read, AgentId: ptr("carol"),
		})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")

		_, err = h.tryRead(context.Background(), id, toAll.GetId())
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.tryRead(as("bob"), id, aMessageID)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")

		late := h.say(t, "alice", id, "")
		h.closeChannel(t, id)
		_, err = h.tryRead(as("bob"), id, late.GetId())
		require.NoError(t, err, "marking read is allowed on a closed channel")
	})
}

func TestAcknowledgingAfterTheExpiry(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		send := func(kind openintentv1.MessageType, to string) *wireMessage {
			return h.send(t, "alice", &sendRequest{ChannelId: id, To: &to, MessageType: &kind, ExpiresAt: h.in(time.Minute)})
		}
		mark := func(agent string, m *wireMessage) error {
			_, err := h.tryRead(as(agent), id, m.GetId())
			return err
		}
		note, unread := send(notify, "*"), send(notify, "*")
		openRead, answered := send(request, "bob"), send(request, "bob")
		require.NoError(t, mark("bob", note))
		require.NoError(t, mark("bob", openRead))
		h.reply(t, "bob", id, answered.GetId(), "")
		h.clock.Advance(time.Minute)
		for range 2 {
			require.NoError(t, mark("bob", note), "who has read it may repeat it")
			faulttest.Require(t, mark("carol", note), fault.Conflict, "MESSAGE_EXPIRED")
			faulttest.Require(t, mark("bob", unread), fault.Conflict, "MESSAGE_EXPIRED")
			faulttest.Require(t, mark("bob", openRead), fault.Conflict, "MESSAGE_EXPIRED")
			h.sweep(t)
		}
		require.NoError(t, mark("bob", answered), "an answered request does not expire")
	})
}
