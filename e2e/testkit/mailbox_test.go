package testkit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintent "openintent/sdk/go"
)

// An answer stands also if what others said before it does not fit in one page of the server's answers.
func TestAnAnswerBehindLongMessagesStands(t *testing.T) {
	server := start(t)
	channel := open(t, server, "asker")
	mailbox, err := server.Client("helper").Mailbox(openintent.MailboxOptions{})
	require.NoError(t, err)
	require.NoError(t, mailbox.Open(t.Context()))
	defer func() { require.NoError(t, mailbox.Close(t.Context())) }()
	told, err := channel.Notify(t.Context(), "helper", map[string]any{"text": "The build is red."})
	require.NoError(t, err)
	batch, err := mailbox.Take(t.Context(), 10*time.Second)
	require.NoError(t, err)
	require.Len(t, batch.Messages, 1)
	for range 14 {
		_, err := channel.Send(t.Context(), openintent.Draft{
			MessageType: openintent.Broadcast, Payload: map[string]any{"log": strings.Repeat("x", 250_000)},
			Conversation: openintent.Conversation{ParentID: told.ID},
		})
		require.NoError(t, err)
	}
	first, err := mailbox.Answer(t.Context(), told.ID, map[string]any{"text": "I look at it."})
	require.NoError(t, err)
	require.True(t, first.Stored)
	again, err := mailbox.Answer(t.Context(), told.ID, map[string]any{"text": "I have looked at it."})
	require.NoError(t, err)
	require.False(t, again.Stored)
	require.Equal(t, first.Message.ID, again.Message.ID)
}
