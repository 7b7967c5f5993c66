package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/messaging/message"
)

func TestAnyChannelFindsWhatItsOwnChannelFinds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open, members := h.open(t), h.explicit(t, "alice", "bob")
		said, whispered := h.say(t, "alice", open, "to all"), h.say(t, "alice", members, "to some")
		asked := h.asks(t, "alice", open, "bob")
		h.clock.Advance(240 * time.Hour)
		for _, m := range []*wireMessage{said, whispered, asked} {
			want, err := h.tryGet(as("bob"), m.GetChannelId(), m.GetId())
			require.NoError(t, err)
			found, err := h.tryGet(as("bob"), channels.AnyID, m.GetId())
			require.NoError(t, err)
			require.Empty(t, cmpMessages(want, found))
			require.Equal(t, m.GetChannelId(), found.GetChannelId())
		}
	})
}

func TestAnyChannelHidesWhyAMessageIsNotForTheCaller(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open, members, short := h.open(t), h.explicit(t, "alice"), h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(1))}})
		asked, whispered := h.asks(t, "alice", open, "bob"), h.say(t, "alice", members, "to some")
		evicted := h.say(t, "alice", short, "first")
		h.say(t, "alice", short, "last")
		deleted := h.open(t)
		gone := h.say(t, "alice", deleted, "gone")
		h.deleteChannel(t, deleted)
		for _, id := range []string{
			aMessageID, "nonsense", "", channels.AnyID, open, asked.GetId(), whispered.GetId(), evicted.GetId(), gone.GetId(),
		} {
			_, err := h.tryGet(as("carol"), channels.AnyID, id)
			require.Equal(t, message.ErrMessageNotFound, err, id)
		}
		outside := caller.Caller{Agent: "bob", KeyID: "k", KeyAgents: []string{"bob"}, Scope: caller.NewScope([]string{"elsewhere"}, []string{members})}
		_, err := h.tryGet(caller.NewContext(t.Context(), outside), channels.AnyID, asked.GetId())
		require.Equal(t, message.ErrMessageNotFound, err, "the room keeps the key to its scope")
		outside.Scope = caller.NewScope(nil, []string{open})
		_, err = h.tryGet(caller.NewContext(t.Context(), outside), channels.AnyID, asked.GetId())
		require.NoError(t, err)
	})
}

// A failure of the server does not say that there is no such message.
func TestAnyChannelHidesNoFailure(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		said := h.say(t, "alice", h.open(t), "to all")
		ctx, cancel := context.WithCancel(as("bob"))
		cancel()
		_, err := h.tryGet(ctx, channels.AnyID, said.GetId())
		require.ErrorIs(t, err, context.Canceled)
	})
}
