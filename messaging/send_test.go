package messaging

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestSentMessageComesBackAsStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		payload, err := structpb.NewStruct(map[string]any{"n": 1.5, "deep": map[string]any{"list": []any{nil, true, "ü"}}})
		require.NoError(t, err)
		metadata, err := structpb.NewStruct(map[string]any{"tag": "x"})
		require.NoError(t, err)
		h.clock.Advance(time.Minute)
		expiry := h.clock.Now().Add(time.Hour + 789)
		sent := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Payload: payload, Metadata: metadata,
			ExpiresAt: timestamppb.New(expiry),
		})
		require.Regexp(t, `^msg_[0-9A-HJKMNP-TV-Z]{26}$`, sent.GetId())
		require.Equal(t, id, sent.GetChannelId())
		require.Equal(t, "alice", sent.GetSender())
		require.Equal(t, "bob", sent.GetTo())
		require.Equal(t, request, sent.GetMessageType())
		require.Nil(t, sent.CorrelationId)
		require.Equal(t, payload.AsMap(), sent.GetPayload().AsMap())
		require.Equal(t, metadata.AsMap(), sent.GetMetadata().AsMap())
		require.Equal(t, delivered, sent.GetStatus())
		require.Equal(t, h.clock.Now(), sent.GetCreatedAt().AsTime())
		require.Equal(t, expiry.Truncate(time.Microsecond), sent.GetExpiresAt().AsTime(), "times are kept in microseconds")
		require.Nil(t, sent.ReadAt)
		require.Empty(t, cmpMessages(sent, h.get(t, id, sent.GetId())))

		plain := h.send(t, "alice", &sendRequest{ChannelId: id})
		require.Equal(t, notify, plain.GetMessageType(), "a message without a type is a notify")
		require.Nil(t, plain.To)
		require.Nil(t, plain.ExpiresAt)
		require.NotNil(t, plain.GetPayload())
		require.NotNil(t, plain.GetMetadata())
		require.Empty(t, plain.GetMetadata().GetFields())

		require.Equal(t, "*", h.send(t, "alice", &sendRequest{ChannelId: id, MessageType: ptr(broadcast)}).GetTo())
		require.Equal(t, "*", h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("*")}).GetTo())
	})
}

func TestSendingNeedsACallerAndAChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		_, err := h.messaging.SendMessage(context.Background(), &sendRequest{ChannelId: id})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		for _, absent := range []string{"", "nonsense", "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV", "chan_\x00"} {
			_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: absent})
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		}
	})
}

func TestSenderIsWhoCalls(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		own := h.send(t, "alice", &sendRequest{ChannelId: id, Sender: ptr("alice")})
		require.Equal(t, "alice", own.GetSender())

		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, Sender: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		_, err = h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, Sender: ptr("bob"), To: "carol"})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")

		operator, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id})
		require.NoError(t, err)
		require.Equal(t, caller.Operator, operator.GetSender())
		named, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("bob")})
		require.NoError(t, err)
		require.Equal(t, "bob", named.GetSender())
		for _, reserved := range []string{"system", "*", "role:x"} {
			_, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: &reserved})
			faulttest.RequireBadField(t, err, "sender")
		}
		require.Equal(t, int64(3), h.channel(t, id).GetMessageCount())
	})
}

// When the operator names an agent, membership and recipients are that agent's.
func TestOperatorNamingAnAgentIsHeldToItsRules(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("carol")})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		asked, err := h.messaging.SendMessage(asOperator(), &sendRequest{
			ChannelId: id, Sender: ptr("alice"), To: ptr("bob"), MessageType: ptr(request),
		})
		require.NoError(t, err)
		reply := func(agent string) error {
			_, err := h.messaging.ReplyMessage(asOperator(), &replyRequest{
				ChannelId: id, MessageId: asked.GetId(), Sender: &agent,
			})
			return err
		}
		faulttest.Require(t, reply("alice"), fault.Denied, "OWN_REQUEST")
		faulttest.Require(t, reply("carol"), fault.Denied, "NOT_A_MEMBER")
		require.NoError(t, reply("bob"))
		require.NoError(t, reply("operator"))
		_, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("alice"), To: ptr("alice")})
		faulttest.RequireBadField(t, err, "to")

		intentID := h.channel(t, id).GetIntentId()
		h.admit(t, intentID, "bob")
		_, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("alice")})
		f := faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		require.Equal(t, "read", f.Metadata["required_permission"])
		require.Equal(t, "none", f.Metadata["current_permission"])
		require.NotContains(t, f.Metadata, "access_request_url", "nothing is served there")
	})
}

func TestSendingIsForParticipants(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.admit(t, intentID, "alice", "carol")
		shared := h.create(t, &createRequest{IntentId: intentID, Name: "shared"})
		private := h.create(t, &createRequest{
			IntentId: intentID, Name: "private", Members: []string{"alice", "bob"},
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
		})
		for _, row := range []struct{ agent, channel, to, reason string }{
			{"alice", shared, "", ""},
			{"carol", shared, "alice", ""},
			{"bob", shared, "", "FORBIDDEN"},
			{"alice", private, "", ""},
			{"alice", private, "bob", "TARGET_WITHOUT_ACCESS"},
			{"alice", private, "role:nobody-has-it", ""},
			{"alice", private, "carol", "TARGET_NOT_A_MEMBER"},
			{"carol", private, "", "NOT_A_MEMBER"},
			{"bob", private, "", "FORBIDDEN"},
			{"creator", private, "", "NOT_A_MEMBER"},
		} {
			req := &sendRequest{ChannelId: row.channel}
			if row.to != "" {
				req.To = &row.to
			}
			_, err := h.messaging.SendMessage(as(row.agent), req)
			if row.reason == "" {
				require.NoError(t, err)
			} else {
				faulttest.Require(t, err, fault.Denied, row.reason)
			}
		}
		h.addMember(t, private, "carol")
		require.Equal(t, "carol", h.send(t, "alice", &sendRequest{ChannelId: private, To: ptr("carol")}).GetTo())
		h.removeMember(t, private, "alice")
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: private})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
	})
}

func TestNothingIsSentWhereItIsClosed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		closed := h.open(t)
		h.closeChannel(t, closed)
		ended := h.open(t)
		h.setStatus(t, h.channel(t, ended).GetIntentId(), completed)
		lapsed := h.create(t, &createRequest{Options: &optionsInput{TtlSeconds: ptr(int64(5))}})
		h.say(t, "alice", lapsed, "in time")
		h.clock.Advance(6 * time.Second)
		for _, id := range []string{closed, ended, lapsed} {
			_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
			faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
			_, err = h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: "bob"})
			faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		}
		deleted := h.open(t)
		h.deleteChannel(t, deleted)
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: deleted})
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")

		paused := h.create(t, &createRequest{Options: &optionsInput{TtlSeconds: ptr(int64(5))}})
		h.setStatus(t, h.channel(t, paused).GetIntentId(), suspended)
		h.clock.Advance(time.Hour)
		h.say(t, "alice", paused, "a suspended intent's channels stay open")
	})
}

func TestPayloadBound(t *testing.T) {
	bounded := func(_ *configOfDatabase, cfg *Config) { cfg.MaxPayloadBytes = 64 }
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		overhead := len(`{"text":""}{}`)
		h.say(t, "alice", id, strings.Repeat("x", 64-overhead))
		big := &sendRequest{ChannelId: id, Payload: content(strings.Repeat("x", 65-overhead))}
		_, err := h.messaging.SendMessage(as("alice"), big)
		faulttest.Require(t, err, fault.TooLarge, "PAYLOAD_TOO_LARGE")
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{
			ChannelId: id, Payload: content(strings.Repeat("x", 20)), Metadata: content(strings.Repeat("x", 40)),
		})
		faulttest.Require(t, err, fault.TooLarge, "PAYLOAD_TOO_LARGE")
		_, err = h.messaging.SendMessageByName(as("alice"), &byNameRequest{
			IntentId: h.channel(t, id).GetIntentId(), Name: "new", Payload: big.GetPayload(),
		})
		faulttest.Require(t, err, fault.TooLarge, "PAYLOAD_TOO_LARGE")
		_, err = h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: "bob", Payload: big.GetPayload()})
		faulttest.Require(t, err, fault.TooLarge, "PAYLOAD_TOO_LARGE")
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	}, bounded)
}

func TestTextsThatTheStoreCannotKeepAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		nul := "a\x00b"
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, To: &nul})
		faulttest.RequireBadField(t, err, "to")
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, IdempotencyKey: &nul})
		faulttest.RequireBadField(t, err, "idempotency_key")
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{
			ChannelId: id, MessageType: ptr(response), CorrelationId: &nul,
		})
		faulttest.RequireBadField(t, err, "correlation_id")
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, Payload: content(nul)})
		faulttest.RequireBadField(t, err, "payload.text")
		_, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: &nul})
		faulttest.RequireBadField(t, err, "sender")
		_, err = h.tryReply(as("alice"), id, nul, "")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryGet(as("alice"), id, nul)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryRead(as("alice"), id, nul)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.messaging.AwaitResponses(as("alice"), &awaitRequest{ChannelId: id, MessageId: nul})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		for _, req := range []*listRequest{{To: &nul}, {CorrelationId: &nul}, {Since: &nul}} {
			req.ChannelId = id
			_, err = h.messaging.ListMessages(as("alice"), req)
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		}
	})
}
