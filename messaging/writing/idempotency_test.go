package writing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/intents"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// sealedDraft returns a request with a key and a fingerprint.
func sealedDraft(t *testing.T, payload string) *Draft {
	t.Helper()
	d := draftBy("alice")
	d.MessageType, d.Target, d.Key, d.Timeout = message.TypeRequest, "bob", "k", time.Minute
	d.payload = jsonvalue.Object(payload)
	require.NoError(t, d.Seal())
	return d
}

// What comes again under its key is answered as it was the first time, whatever the time is now; something else is refused.
func TestARepeatedMessageIsTheFirstOne(t *testing.T) {
	head, first := &intents.Head{IntentNo: 1, LastAt: someTime.Add(time.Hour)}, sealedDraft(t, `{"a":1}`)
	stored := &message.Message{
		IntentNo: 1, Position: 5, ID: someMessageID, ChannelID: "c", Sender: "alice", Target: "bob", Type: message.TypeRequest,
		Payload: jsonvalue.Object(`{"a":1}`), Metadata: jsonvalue.Object(`{}`), CreatedAt: someTime, ExpiresAt: someTime.Add(time.Minute), Open: true,
		Conversation: &message.Conversation{Mentions: []string{"carol"}},
	}
	record := recordOf(first, stored)
	again, err := new(batch).replay(head, sealedDraft(t, `{"a":1}`), record)
	require.NoError(t, err)
	require.Equal(t, stored, again)
	_, err = new(batch).replay(head, sealedDraft(t, `{"a":2}`), record)
	require.ErrorIs(t, err, message.ErrKeyReused)
	notify := sealedDraft(t, `{"a":1}`)
	notify.MessageType = message.TypeNotify
	require.NoError(t, notify.Seal())
	again, err = new(batch).replay(head, notify, recordOf(notify, stored))
	require.NoError(t, err)
	require.False(t, again.Open, "only a request waits for an answer")
}

// The conversations of a batch's keys stand in the rows of their own messages.
func TestEachKeyKeepsItsOwnConversation(t *testing.T) {
	b := new(keyBatch)
	d := sealedDraft(t, `{}`)
	said := &message.Conversation{Subject: "s"}
	_, column := said.Columns()
	for _, c := range []*message.Conversation{nil, nil, said, nil, said} {
		b.add(d, &message.Message{CreatedAt: someTime, Conversation: c})
	}
	b.add(d, &message.Message{CreatedAt: someTime})
	require.True(t, b.conversations.fillUpTo(len(b.key)))
	require.Equal(t, [][]byte{nil, nil, column, nil, column, nil}, b.conversations.conversation)
}

func TestADraftThatMakesItsChannelHasTheKeysOfTheName(t *testing.T) {
	require.Equal(t, "name:talk", (&Draft{Name: "talk", ChannelID: "c"}).Scope())
	require.Equal(t, "channel:talk", (&Draft{ChannelID: "talk"}).Scope())
}

// Without a key among the drafts there is nothing to read.
func TestBatchesWithoutKeysReadNone(t *testing.T) {
	b := &batch{submissions: []*submission{{draft: draftBy("alice")}, {draft: draftBy("bob")}}}
	require.Empty(t, b.readKeys([]int64{1}))
}
