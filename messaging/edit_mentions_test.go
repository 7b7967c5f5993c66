package messaging

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
)

// rewritten edits a message and returns whom it mentions then.
func (h *house) rewritten(ctx context.Context, t require.TestingT, m *wireMessage, change *updateRequest) []string {
	edited, err := h.tryEdit(ctx, m, change)
	require.NoError(t, err)
	require.Empty(t, cmpMessages(edited, h.get(t, m.GetChannelId(), m.GetId())))
	return edited.GetMentions()
}

func TestAnEditedTextMentionsWhomItNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "carol", "tester")
		h.say(t, "bob", id, "here")
		sent := h.say(t, "alice", id, "@bob and @nobody")
		require.Equal(t, []string{"bob"}, sent.GetMentions())
		require.Equal(t, []string{"bob"}, h.rewritten(as("alice"), t, sent, &updateRequest{Subject: ptr("other words")}),
			"the text is the same, so whom it names stays")
		require.Equal(t, []string{"role:tester", "bob"},
			h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content("@role:tester, ask @bob or @nobody")}))
		require.Empty(t, h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content("never mind")}))
		require.Equal(t, []string{"carol"},
			h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content("@bob"), Mentions: names("carol")}), "given ones replace found ones")
		require.Equal(t, []string{"carol"}, h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content("@bob again")}),
			"and stay, whatever the text says later")
	})
}

// Only an edit of the text looks for names again. Other edits find nothing new, even if somebody whom the text names has come since.
func TestAnEditThatLeavesTheTextLeavesWhomItMentions(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "bob", id, "here")
		text := "@bob and @carol"
		sent := h.say(t, "alice", id, text)
		require.Equal(t, []string{"bob"}, sent.GetMentions())
		h.say(t, "carol", id, "here")
		require.Equal(t, []string{"bob"}, h.rewritten(as("alice"), t, sent, &updateRequest{Subject: ptr("other words")}))
		require.Equal(t, []string{"bob"}, h.rewritten(as("alice"), t, sent, &updateRequest{Metadata: content("a note")}))
		require.Equal(t, []string{"bob", "carol"},
			h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content(text), Subject: ptr("a third one")}))
	})
}

// A repeated edit finds nothing new, even if somebody whom the text names has come since.
func TestARepeatedEditMentionsNobodyNew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		sent := h.say(t, "alice", id, "hello")
		change := func() *updateRequest { return &updateRequest{Payload: content("hello @bob")} }
		require.Empty(t, h.rewritten(as("alice"), t, sent, change()))
		h.say(t, "bob", id, "here")
		require.Empty(t, h.rewritten(as("alice"), t, sent, change()))
		require.Len(t, h.said(t, "alice", sent), 2)
	})
}

func TestMentionsThatASenderGaveStayAfterAnEdit(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "bob", id, "here")
		for _, given := range []*structpb.ListValue{names(), names("carol")} {
			sent := h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content("hello"), Mentions: given})
			require.Len(t, sent.GetMentions(), len(given.GetValues()))
			require.Equal(t, sent.GetMentions(), h.rewritten(as("alice"), t, sent, &updateRequest{Payload: content("hello @bob")}))
		}
	})
}

// Words in an edited text tell a key for one channel no more than words in a text that it sends.
func TestEditedNamesTellAScopedKeyNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "tester")
		id := h.create(t, &createRequest{IntentId: h.intent(t), Name: "open", Members: []string{"listed"}})
		h.say(t, "spoke", id, "hello")
		sent := h.say(t, "alice", id, "plain")
		text := "@bob @role:tester @listed @spoke @creator @nobody"
		found := h.rewritten(withinChannel("alice", id), t, sent, &updateRequest{Payload: content(text)})
		require.Equal(t, h.mentioned(withinChannel("alice", id), t, id, text), found)
		require.NotContains(t, found, "role:tester")
		require.Equal(t, h.mentioned(as("alice"), t, id, text),
			h.rewritten(as("alice"), t, h.say(t, "alice", id, "another"), &updateRequest{Payload: content(text)}))
	})
}
