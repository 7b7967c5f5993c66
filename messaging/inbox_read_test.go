package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

// Marking reaches across channels and intents, gives each message once in the order named, and may be repeated.
func TestMarkInboxRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, other := h.open(t), h.open(t)
		asked, told := h.asks(t, "a", one, "b"), h.send(t, "a", &sendRequest{ChannelId: other, To: ptr("b")})
		readAt := h.clock.Advance(time.Minute)
		for range 2 {
			messages, err := h.markInbox(as("b"), "b", told.GetId(), asked.GetId(), told.GetId())
			require.NoError(t, err)
			require.Equal(t, []string{told.GetId(), asked.GetId()}, idsOf(messages))
			for _, m := range messages {
				require.Equal(t, read, m.GetStatus())
				require.Equal(t, readAt, m.GetReadAt().AsTime())
				require.Equal(t, m.GetReadAt().AsTime(), h.get(t, m.GetChannelId(), m.GetId()).GetReadAt().AsTime())
			}
			h.clock.Advance(time.Minute)
		}
		require.Equal(t, 2, h.rows(t, "receipts", "agent_id = 'b'"))
		require.Equal(t, []string{asked.GetId()}, idsIn(h.inbox(t, "b")), "it waits for its answer")

		everyone := h.say(t, "a", one, "")
		for _, agent := range []string{"b", "c"} { // the first acknowledgement stays the message's
			messages, err := h.markInbox(as(agent), agent, everyone.GetId())
			require.NoError(t, err)
			require.Equal(t, h.get(t, one, everyone.GetId()).GetReadAt().AsTime(), messages[0].GetReadAt().AsTime())
			h.clock.Advance(time.Minute)
		}
		require.Equal(t, 4, h.rows(t, "receipts", "1 = 1"))
	})
}

// One message that may not be marked leaves all unmarked, and is named.
func TestMarkInboxReadIsAllOrNone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, other := h.open(t), h.open(t)
		good, goodToo := h.asks(t, "a", one, "b"), h.asks(t, "a", other, "b")
		mine, foreign := h.asks(t, "b", other, "a"), h.asks(t, "a", one, "c")
		lapsed := h.send(t, "a", &sendRequest{ChannelId: other, To: ptr("b"), ExpiresAt: h.in(time.Second)})
		secluded := h.explicit(t, "a", "c")
		hidden := h.say(t, "a", secluded, "")
		small := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(1))}})
		evicted := h.asks(t, "a", small, "b")
		h.say(t, "a", small, "")
		h.clock.Advance(time.Minute)
		for name, c := range map[string]struct {
			id, reason string
			kind       fault.Kind
		}{
			"one's own":   {mine.GetId(), "OWN_MESSAGE", fault.Denied},
			"another's":   {foreign.GetId(), "MESSAGE_NOT_FOUND", fault.NotFound},
			"out of time": {lapsed.GetId(), "MESSAGE_EXPIRED", fault.Conflict},
			"no member's": {hidden.GetId(), "MESSAGE_NOT_FOUND", fault.NotFound},
			"evicted":     {evicted.GetId(), "MESSAGE_NOT_FOUND", fault.NotFound},
			"unknown":     {message.NewID(), "MESSAGE_NOT_FOUND", fault.NotFound},
			"malformed":   {"msg_\x00", "MESSAGE_NOT_FOUND", fault.NotFound},
		} {
			_, err := h.markInbox(as("b"), "b", good.GetId(), c.id, goodToo.GetId())
			require.Equal(t, c.id, faulttest.Require(t, err, c.kind, c.reason).Metadata["message_id"], name)
			require.Zero(t, h.rows(t, "receipts", "1 = 1"), name)
			require.Equal(t, delivered, h.get(t, one, good.GetId()).GetStatus(), name)
		}
		scoped := caller.Caller{Agent: "b", KeyID: "k", KeyAgents: []string{"b"}, Scope: caller.NewScope(nil, []string{other})}
		_, err := h.markInbox(caller.NewContext(t.Context(), scoped), "b", goodToo.GetId(), good.GetId())
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND") // good is in a channel outside the key's scope
		require.Zero(t, h.rows(t, "receipts", "1 = 1"))
		_, err = h.markInbox(as("b"), "b", "nothing")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
	})
}

func TestMarkInboxReadAndCommitsThatFail(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		one, other := h.asks(t, "a", h.open(t), "b"), h.asks(t, "a", h.open(t), "b")
		f.set(failing, nil)
		_, err := h.markInbox(as("b"), "b", one.GetId(), other.GetId())
		require.ErrorIs(t, err, errInjected)
		f.set(nil, nil)
		require.Zero(t, h.rows(t, "receipts", "1 = 1"))
		f.set(nil, times(1))
		_, err = h.markInbox(as("b"), "b", one.GetId(), other.GetId())
		require.Error(t, err, "nobody knows")
		_, err = h.markInbox(as("b"), "b", one.GetId(), other.GetId())
		require.NoError(t, err)
		require.Equal(t, 2, h.rows(t, "receipts", "1 = 1"))
	})
}
