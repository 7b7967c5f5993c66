package messaging

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func (h *house) channelsOf(t require.TestingT, intentID string) []*openintentv1.Channel {
	list, err := h.channels.ListChannels(asOperator(), &openintentv1.ListChannelsRequest{IntentId: intentID})
	require.NoError(t, err)
	return list.GetChannels()
}

func TestSendingByNameMakesTheChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		first, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{
			IntentId: intentID, Name: "news", Payload: content("one"),
		})
		require.NoError(t, err)
		channel := h.channel(t, first.GetChannelId())
		require.Equal(t, "news", channel.GetName())
		require.Equal(t, "alice", channel.GetCreatedBy())
		require.Equal(t, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, channel.GetMemberPolicy())
		require.Equal(t, int64(1000), channel.GetOptions().GetMaxMessages())
		require.False(t, channel.GetOptions().GetAudit())
		require.Equal(t, int64(1), channel.GetMessageCount())
		require.Equal(t, first.GetCreatedAt().AsTime(), channel.GetLastMessageAt().AsTime())

		second, err := h.messaging.SendMessageByName(as("bob"), &byNameRequest{
			IntentId: intentID, Name: "news", Payload: content("two"), To: ptr("alice"), MessageType: ptr(request),
		})
		require.NoError(t, err)
		require.Equal(t, first.GetChannelId(), second.GetChannelId())
		require.Equal(t, []string{"one", "two"}, textsOf(h.list(t, "alice", &listRequest{ChannelId: first.GetChannelId()})))

		answer, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{
			IntentId: intentID, Name: "news", Payload: content("yes"), MessageType: ptr(response),
			CorrelationId: &second.Id,
		})
		require.NoError(t, err)
		require.Equal(t, "bob", answer.GetTo())
		require.Len(t, h.channelsOf(t, intentID), 1)

		h.closeChannel(t, first.GetChannelId())
		third, err := h.messaging.SendMessageByName(as("bob"), &byNameRequest{IntentId: intentID, Name: "news"})
		require.NoError(t, err)
		require.NotEqual(t, first.GetChannelId(), third.GetChannelId(), "a closed channel's name is free")
	})
}

func TestRefusedMessageMakesNoChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.admit(t, intentID, "alice")
		for name, row := range map[string]struct {
			agent  string
			change func(*byNameRequest)
			kind   fault.Kind
			reason string
		}{
			"no access":       {"mallory", nil, fault.Denied, "FORBIDDEN"},
			"another sender":  {"alice", func(r *byNameRequest) { r.Sender = ptr("bob") }, fault.Denied, "SENDER_MISMATCH"},
			"an expiry past":  {"alice", func(r *byNameRequest) { r.ExpiresAt = h.in(-1) }, fault.Invalid, "INVALID_FIELD"},
			"an expiry now":   {"alice", func(r *byNameRequest) { r.ExpiresAt = h.in(0) }, fault.Invalid, "INVALID_FIELD"},
			"no addressee":    {"alice", func(r *byNameRequest) { r.MessageType = ptr(request) }, fault.Invalid, "INVALID_FIELD"},
			"to oneself":      {"alice", func(r *byNameRequest) { r.To = ptr("alice") }, fault.Invalid, "INVALID_FIELD"},
			"a slash":         {"alice", func(r *byNameRequest) { r.Name = "a/b" }, fault.Invalid, "INVALID_FIELD"},
			"a control":       {"alice", func(r *byNameRequest) { r.Name = "a\nb" }, fault.Invalid, "INVALID_FIELD"},
			"no such intent":  {"alice", func(r *byNameRequest) { r.IntentId = "nowhere" }, fault.NotFound, "INTENT_NOT_FOUND"},
			"a lone response": {"alice", func(r *byNameRequest) { r.MessageType = ptr(response) }, fault.Invalid, "INVALID_FIELD"},
			"an answer to nothing": {"alice", func(r *byNameRequest) {
				r.MessageType, r.CorrelationId = ptr(response), ptr(aMessageID)
			}, fault.Invalid, "INVALID_FIELD"},
		} {
			req := &byNameRequest{IntentId: intentID, Name: "news"}
			if row.change != nil {
				row.change(req)
			}
			_, err := h.messaging.SendMessageByName(as(row.agent), req)
			require.Error(t, err, name)
			faulttest.Require(t, err, row.kind, row.reason)
		}
		require.Empty(t, h.channelsOf(t, intentID))
		h.setStatus(t, intentID, completed)
		_, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{IntentId: intentID, Name: "news"})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
		require.Empty(t, h.channelsOf(t, intentID))
	})
}

func TestSendingByNameFollowsTheChannelsRules(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.create(t, &createRequest{
			IntentId: intentID, Name: "private", Members: []string{"alice", "bob"},
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
		})
		send := func(agent, to string) error {
			_, err := h.messaging.SendMessageByName(as(agent), &byNameRequest{IntentId: intentID, Name: "private", To: &to})
			return err
		}
		require.NoError(t, send("alice", "bob"))
		faulttest.Require(t, send("carol", "bob"), fault.Denied, "NOT_A_MEMBER")
		faulttest.Require(t, send("alice", "carol"), fault.Denied, "TARGET_NOT_A_MEMBER")
		_, err := h.messaging.SendMessageByName(asOperator(), &byNameRequest{IntentId: intentID, Name: "private"})
		require.NoError(t, err)
		require.Len(t, h.channelsOf(t, intentID), 1)
		require.Equal(t, caller.Operator, h.listIn(asOperator(), t, &listRequest{
			ChannelId: h.channelsOf(t, intentID)[0].GetId(),
		})[1].GetSender())
	})
}

// A channel whose time to live ran out gives its name to the next message, swept or not.
func TestSendingByNameToALapsedChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		lapsed := h.create(t, &createRequest{IntentId: intentID, Name: "news", Options: &optionsInput{TtlSeconds: ptr(int64(5))}})
		asked := h.asks(t, "alice", lapsed, "bob")
		h.clock.Advance(time.Minute)
		sent, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{IntentId: intentID, Name: "news"})
		require.NoError(t, err)
		require.NotEqual(t, lapsed, sent.GetChannelId())
		require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, h.channel(t, lapsed).GetStatus())
		require.Equal(t, asked.GetCreatedAt().AsTime().Add(5*time.Second), h.channel(t, lapsed).GetClosedAt().AsTime())
		require.Equal(t, expired, h.get(t, lapsed, asked.GetId()).GetStatus())
	})
}

func TestSimultaneousFirstMessagesShareTheChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		others := h.rooms
		if h.db.Engine() == database.PostgreSQL {
			others = h.replica(t)
		}
		intentID := h.intent(t)
		const each = 10
		sent := make([]*wireMessage, 2*each)
		var wait sync.WaitGroup
		for i := range sent {
			service := h.messaging
			if i%2 == 1 {
				service = others.messaging
			}
			wait.Go(func() {
				var err error
				sent[i], err = service.SendMessageByName(as("alice"), &byNameRequest{IntentId: intentID, Name: "news"})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		channels := h.channelsOf(t, intentID)
		require.Len(t, channels, 1)
		require.Equal(t, int64(2*each), channels[0].GetMessageCount())
		var ids []string
		for _, m := range sent {
			require.Equal(t, channels[0].GetId(), m.GetChannelId())
			ids = append(ids, m.GetId())
		}
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), 2*each)
	})
}
