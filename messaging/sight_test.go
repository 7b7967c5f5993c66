package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

// byIDs are the calls that find a message by its id, whatever became of its time.
func (h *house) byIDs(t require.TestingT, m *wireMessage) map[string]func() error {
	return map[string]func() error{
		"get": func() error {
			_, err := h.tryGet(as("bob"), m.GetChannelId(), m.GetId())
			return err
		},
		"get by the id alone": func() error {
			_, err := h.tryGet(as("bob"), "-", m.GetId())
			return err
		},
		"mark read": func() error {
			_, err := h.tryRead(as("bob"), m.GetChannelId(), m.GetId())
			return err
		},
		"mark the inbox read": func() error {
			_, err := h.markInbox(as("bob"), "bob", m.GetId())
			return err
		},
		"mark surfaced": func() error {
			_, err := h.trySurface(as("bob"), "bob", m.GetId())
			return err
		},
		"dispose": func() error {
			_, err := h.tryDispose(as("bob"), m, Disposition{Word: "queued"})
			return err
		},
		"deliveries": func() error {
			_, err := h.tryDeliveries(as("alice"), m)
			return err
		},
	}
}

// An obligation keeps its request when it is evicted, for whoever names it, until its content is deleted. Then no call finds it, but those
// that close it, so that their repeats are harmless.
func TestAnEvictedObligationIsFoundByItsID(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		owed := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Obligation: &openintentv1.Obligation{},
		})
		plain := h.asks(t, "alice", id, "bob")
		h.say(t, "carol", id, "the last")
		h.removeEvicted(t, id)
		for name, call := range h.byIDs(t, owed) {
			require.NoError(t, call(), name)
		}
		for name, call := range h.byIDs(t, plain) {
			require.ErrorIs(t, call(), message.ErrMessageNotFound, "%s: nothing is owed", name)
		}
		h.erase(t, "alice", owed)
		for name, call := range h.byIDs(t, owed) {
			require.ErrorIs(t, call(), message.ErrMessageNotFound, "%s: its obligation is closed", name)
		}
		require.NotNil(t, h.erase(t, "alice", owed).GetDeletedAt(), "a repeat")
		h.clock.Advance(askersPatience)
		h.sweep(t)
		require.False(t, h.exists(t, owed))
	})
}

// A message that is no request is no request as long as it is listed, and is not there once it was evicted, swept or not.
func TestAnEvictedMessageIsNoQuestion(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		said := h.say(t, "alice", id, "no question")
		answer := func() error {
			_, err := h.tryReply(as("bob"), id, said.GetId(), "none")
			return err
		}
		await := func() error {
			_, err := h.awaits(t, "alice", said)
			return err
		}
		faulttest.Require(t, answer(), fault.Invalid, "NOT_A_REQUEST")
		faulttest.Require(t, await(), fault.Invalid, "NOT_A_REQUEST")
		h.say(t, "carol", id, "the last")
		require.True(t, h.exists(t, said))
		require.ErrorIs(t, answer(), message.ErrMessageNotFound)
		require.ErrorIs(t, await(), message.ErrMessageNotFound)
	})
}

// An evicted request and its response are kept for the asker, and no list, thread or feed shows them, nor does anybody write below them.
func TestWhatIsKeptForAnAskerIsNotListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 2)
		begin := h.positionOf(t, id)
		asked := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute), Payload: content("asked"),
		})
		answer := h.reply(t, "bob", id, asked.GetId(), "answer")
		for _, text := range []string{"gone", "one", "two"} {
			h.say(t, "carol", id, text)
		}
		h.removeEvicted(t, id)
		got, err := h.awaits(t, "alice", asked)
		require.NoError(t, err)
		require.Equal(t, []string{answer.GetId()}, idsOf(got))

		require.Equal(t, []string{"one", "two"}, textsOf(h.list(t, "alice", &listRequest{ChannelId: id})))
		for _, newest := range []*string{nil, ptr("2026-01-01T00:00:00Z")} {
			require.Empty(t, h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &asked.Id, Since: newest}))
			require.Empty(t, h.list(t, "alice", &listRequest{ChannelId: id, ThreadId: &asked.Id, Since: newest}))
		}
		_, err = h.messaging.GetThread(as("alice"), &threadRequest{ChannelId: id, MessageId: asked.GetId()})
		require.ErrorIs(t, err, message.ErrMessageNotFound)
		require.Equal(t, []string{"one", "two"}, words(t, h.readAll(t, h.feedOf(t, id, "alice"), begin, 10)))
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, ParentId: &answer.Id})
		faulttest.RequireBadField(t, err, "parent_id")
	})
}
