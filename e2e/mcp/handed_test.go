package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// shortly is a wait that finds nothing.
func shortly(given arguments) arguments {
	given["timeout_s"] = 0.05
	return given
}

// A message ends one wait, also after a restart. A question stays in the inbox until it is answered.
func TestAMessageIsHandedOverOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		asked := alice.ask(t, channel, "bob", "How far?", nil)
		first := bob.says(t, "wait", arguments{"for": "inbox"})
		require.Equal(t, []string{"How far?"}, textsOf(first.Messages))
		require.Empty(t, first.Cursor, "a question is not read before it is answered")
		require.Empty(t, bob.says(t, "wait", shortly(arguments{"for": "inbox"})).Messages)
		require.Empty(t, bob.says(t, "wait", shortly(arguments{"for": "inbox", "all": true})).Messages)

		require.NoError(t, h.Stop())
		h.Start(t)
		bob = h.join(t, "bob")
		require.Empty(t, bob.says(t, "wait", shortly(arguments{"for": "inbox"})).Messages, "the server remembers it")
		require.Equal(t, []string{"How far?"}, textsOf(bob.says(t, "inbox", arguments{}).Messages))
		bob.says(t, "reply", arguments{"message": asked, "text": "Half way."})
		require.Empty(t, bob.says(t, "inbox", arguments{}).Messages)

		h.join(t, "alice").ask(t, channel, "bob", "And now?", nil)
		require.Equal(t, []string{"And now?"}, textsOf(bob.says(t, "inbox", arguments{}).Messages))
		require.Empty(t, bob.says(t, "wait", shortly(arguments{"for": "inbox"})).Messages, "the inbox has shown it")
	})
}

// An answer that ask has given ends no wait for the inbox. It counts as read once the asker shows the cursor.
func TestAnAnswerIsHandedOverByTheAsk(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		came := alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"})
		question := awaitQuestion(t, h, "bob")
		bob.says(t, "reply", arguments{"message": question.GetId(), "text": "Yes."})
		answer := within(t, came)
		require.Equal(t, []string{"Yes."}, textsOf(answer.Answers))
		require.Empty(t, alice.says(t, "wait", shortly(arguments{"for": "inbox", "all": true})).Messages)
		require.Equal(t, []string{"Yes."}, textsOf(alice.says(t, "inbox", arguments{}).Messages))
		alice.says(t, "wait", shortly(arguments{"for": answer.Message, "cursor": answer.Cursor}))
		require.Empty(t, alice.says(t, "inbox", arguments{}).Messages)
	})
}

// A message that a wait for a channel has given ends no wait for the inbox.
func TestAMessageIsHandedOverByTheWaitForItsChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		none := bob.says(t, "wait", arguments{"for": channel, "timeout_s": 0})
		alice.ask(t, channel, "bob", "first", nil)
		require.Equal(t, []string{"first"}, textsOf(bob.says(t, "wait", arguments{"for": channel, "cursor": none.Cursor}).Messages))
		require.Empty(t, bob.says(t, "wait", shortly(arguments{"for": "inbox"})).Messages)
		alice.ask(t, channel, "bob", "second", nil)
		require.Equal(t, []string{"second"}, textsOf(bob.says(t, "wait", arguments{"for": "inbox"}).Messages))
	})
}

// What a model reads in its channel or thread counts as read if it is addressed to it.
func TestWhatAModelReadsInAChannelIsRead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		for _, where := range []string{"channel", "thread"} {
			root := alice.tell(t, channel, "to everyone")
			alice.post(t, &openintentv1.SendMessageRequest{ChannelId: channel, To: new("bob"), ParentId: &root, Payload: textPayload(t, where)})
			require.Contains(t, textsOf(bob.says(t, "inbox", arguments{}).Messages), where)
			bob.call(t, "read", map[string]arguments{"channel": {"channel": channel}, "thread": {"thread": root}}[where])
			require.NotContains(t, textsOf(bob.says(t, "inbox", arguments{}).Messages), where)
		}
	})
}

// What a model reads, answers, claims or marks counts as read.
func TestWhatAModelWorksWithIsRead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		for tool, given := range map[string]arguments{
			"read": {}, "send": {"channel": channel, "text": "Thanks."}, "claim": {}, "mark": {"signal": "seen"},
		} {
			told := alice.post(t, &openintentv1.SendMessageRequest{ChannelId: channel, To: new("bob"), Payload: textPayload(t, tool)})
			require.Equal(t, []string{tool}, textsOf(bob.says(t, "inbox", arguments{}).Messages))
			switch tool {
			case "mark":
				given["messages"] = []string{told}
			case "send":
				given["thread"] = told
			default:
				given["message"] = told
			}
			bob.call(t, tool, given)
			require.Empty(t, bob.says(t, "inbox", arguments{}).Messages, tool)
		}
	})
}
