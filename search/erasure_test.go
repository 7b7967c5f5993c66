package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// An erasure takes deleted messages out of the index also where nobody searches, although no run of the index looks there.
func TestAnErasureForgetsWhatNobodySearches(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		kept := h.say(t, "ada", "bob", "word")
		deleted := h.say(t, "ada", "bob", "word")
		others := h.say(t, "bob", "ada", "word")
		removed := h.newChannel(t, &openintentv1.CreateChannelRequest{Name: "removed"})
		h.send(t, "ada", &openintentv1.SendMessageRequest{ChannelId: removed.GetId(), Payload: payload(t, map[string]any{"text": "word"})})
		h.index(t)
		require.Equal(t, 4, h.documents(t))
		_, err := h.talk.DeleteMessage(as("ada"), &openintentv1.DeleteMessageRequest{
			ChannelId: deleted.GetChannelId(), MessageId: deleted.GetId(),
		})
		require.NoError(t, err)
		_, err = h.channels.DeleteChannel(as("creator"), &openintentv1.DeleteChannelRequest{ChannelId: removed.GetId()})
		require.NoError(t, err)
		require.NoError(t, h.talk.Sweep(t.Context()))
		var intentNos []int64
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValues(&intentNos, "SELECT DISTINCT intent_no FROM messages"))
		}))
		require.NoError(t, h.Forget(t.Context(), "ada", intentNos))
		require.Equal(t, 2, h.documents(t))
		h.finds(t, "bob", "word", others, kept)
	})
}

// A replica that read a message before an erasure does not store its words afterwards.
func TestWhatWasReadBeforeAnErasureIsNotStored(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "word")
		list, err := h.indexer.list(t.Context())
		require.NoError(t, err)
		read, err := h.indexer.read(t.Context(), nextOf(list.behind))
		require.NoError(t, err)
		_, err = h.talk.DeleteMessage(as("ada"), &openintentv1.DeleteMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
		require.NoError(t, err)
		require.NoError(t, h.Forget(t.Context(), "ada", []int64{list.behind[0].intentNo}))
		require.ErrorIs(t, h.indexer.store(t.Context(), read), errElsewhere)
	})
}
