package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/messaging/message"
)

// insist repeats a call under one idempotency key until it succeeds, as a client does.
func insist(t require.TestingT, call func(key *string) (*wireMessage, error)) *wireMessage {
	var m *wireMessage
	key := message.NewID()
	eventually(t, func() bool {
		var err error
		m, err = call(&key)
		if err != nil {
			require.True(t, database.IsUnavailable(err), "%v", err)
		}
		return err == nil
	}, "the database does not come back")
	return m
}

// Whoever waits goes on waiting when the connections to the database are lost and come back.
func TestWaitsOutliveLostConnections(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, restless)
	id := h.open(t)
	f := h.follow(t, "carol", id, nil)
	asking := h.askMeanwhile(as("alice"), t, id, 600)
	note := h.asks(t, "bob", id, "alice")
	awaiting := h.awaitMeanwhile(as("bob"), t, &awaitRequest{
		ChannelId: id, MessageId: note.GetId(), WaitSeconds: ptr(600.0),
	})
	for range 3 {
		require.NotZero(t, databasetest.KillConnections(t, h.url))
		said := insist(t, func(key *string) (*wireMessage, error) {
			return h.messaging.SendMessage(as("dave"), &sendRequest{ChannelId: id, IdempotencyKey: key})
		})
		require.Equal(t, said.GetId(), f.next(t).GetMessage().GetId(), "nothing is lost or comes twice")
	}
	databasetest.KillConnections(t, h.url)
	answer := insist(t, func(key *string) (*wireMessage, error) {
		return h.messaging.ReplyMessage(as("bob"), &replyRequest{
			ChannelId: id, MessageId: asking.request.GetId(), IdempotencyKey: key,
		})
	})
	out := asking.result(t)
	require.NoError(t, out.err)
	require.Equal(t, answer.GetId(), out.message.GetId())
	databasetest.KillConnections(t, h.url)
	answer = insist(t, func(key *string) (*wireMessage, error) {
		return h.messaging.ReplyMessage(as("alice"), &replyRequest{
			ChannelId: id, MessageId: note.GetId(), IdempotencyKey: key,
		})
	})
	gathered := within(t, awaiting)
	require.NoError(t, gathered.err)
	require.Equal(t, []string{answer.GetId()}, idsOf(gathered.responses))
	h.requireGapless(t, id)
}

// requireGapless checks that the messages of an intent whose only channel this is have every position since the first.
func (h *house) requireGapless(t require.TestingT, channelID string) {
	key := h.key(t, channelID)
	rows := h.storedOf(t, key.IntentNo)
	for i, row := range rows {
		require.Equal(t, rows[0].position+int64(i), row.position)
		require.Equal(t, int64(i+1), row.ordinal)
	}
	require.Equal(t, int64(len(rows)), h.channel(t, channelID).GetMessageCount())
	require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN, h.channel(t, channelID).GetStatus())
}
