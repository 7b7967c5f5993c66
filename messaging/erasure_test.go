package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// An erasure goes on after each of its pages: of channels, of a channel's messages, and of those that it erases together.
func TestAnErasureGoesThroughAllPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		audited := h.create(t, &createRequest{IntentId: intentID, Name: "audited", Options: &optionsInput{Audit: ptr(true)}})
		copied := h.say(t, "alice", audited, "which the log has")
		first := h.create(t, &createRequest{IntentId: intentID, Name: "first", Options: &optionsInput{MaxMessages: ptr(int64(100_000))}})
		h.fill(t, first, "alice", erasedTogether+1)
		h.fill(t, first, "bob", lookedThrough)
		h.say(t, "alice", first, "the last on its channel")
		intentNo := h.key(t, first).IntentNo
		h.copyChannels(t, intentNo, listedTogether)
		last := h.create(t, &createRequest{IntentId: intentID, Name: "last"})
		h.say(t, "alice", last, "on the last channel")

		found := make(map[string]ErasedChannel)
		erase := func() {
			clear(found)
			require.NoError(t, h.messaging.EraseSent(t.Context(), intentNo, "alice", func(c ErasedChannel) { found[c.ID] = c }))
		}
		erase()
		require.Equal(t, map[string]ErasedChannel{
			audited: {IntentNo: intentNo, ID: audited, Name: "audited", Audited: 1},
			first:   {IntentNo: intentNo, ID: first, Name: "first", Erased: erasedTogether + 2},
			last:    {IntentNo: intentNo, ID: last, Name: "last", Erased: 1},
		}, found)
		const contents = "sender = ? AND octet_length(payload) > 2"
		require.Equal(t, 1, h.rows(t, "messages", contents, "alice"), "the one that the log has a copy of")
		require.Equal(t, "which the log has", textOf(h.get(t, audited, copied.GetId())))
		require.Equal(t, lookedThrough, h.rows(t, "messages", contents, "bob"))
		erase()
		require.Len(t, found, 1, "a repeat finds nothing more than what the log has")
	})
}

// copyChannels stores an intent's newest channel so many times more, as channels that are closed and have no messages. The next channel of
// the intent comes after them.
func (h *house) copyChannels(t *testing.T, intentNo int64, times int) {
	t.Helper()
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO channels (intent_no, channel_no, id, name," +
				" created_by, policy, audit, max_messages, created_at, closed_at) SELECT intent_no, channel_no + i, id || '-' || i, name, created_by," +
				" policy, audit, max_messages, created_at, created_at FROM channels, n WHERE intent_no = ? AND channel_no =" +
				" (SELECT max(channel_no) FROM channels WHERE intent_no = ?)",
			Args: []any{times, intentNo, intentNo},
		}, database.Statement{
			SQL: "UPDATE intent_heads SET last_channel = last_channel + ? WHERE intent_no = ?", Args: []any{times, intentNo},
		})
	}))
}
