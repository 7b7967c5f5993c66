package conversation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// thread reads the thread of a message as an agent.
func (h *house) thread(t *testing.T, agent, messageID string) *openintentv1.Thread {
	t.Helper()
	thread, err := h.talk.GetThread(as(agent), &openintentv1.GetThreadRequest{ChannelId: h.channel, MessageId: messageID})
	require.NoError(t, err)
	return thread
}

func (h *house) react(t *testing.T, agent, messageID, signal string) {
	t.Helper()
	_, err := h.AddReaction(as(agent), &openintentv1.AddReactionRequest{
		ChannelId: h.channel, MessageId: messageID, Signal: signal, Note: ptr("a note"),
	})
	require.NoError(t, err)
}

// under sends a message to everyone, or to one agent, below another one.
func (h *house) under(t *testing.T, parentID string, to *string) string {
	t.Helper()
	sent, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: &parentID, To: to})
	require.NoError(t, err)
	return sent.GetId()
}

func TestAThreadHasTheReactionsToWhatItsViewerSees(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		request := h.asks(t, one())
		public, private := h.under(t, request, nil), h.under(t, request, ptr("bob"))
		h.react(t, "bob", private, "done")
		h.react(t, "bob", request, "working")
		h.react(t, "carol", public, "seen")
		h.react(t, "bob", public, "x-later")
		h.react(t, "alice", request, "agree")
		seen := func(agent string) (lines []string) {
			names := map[string]string{request: "request", public: "public", private: "private"}
			for _, r := range h.thread(t, agent, public).GetReactions() {
				require.Equal(t, "a note", r.GetNote())
				require.NotNil(t, r.GetCreatedAt())
				require.Nil(t, r.Eta)
				lines = append(lines, fmt.Sprint(names[r.GetMessageId()], " ", r.GetAgentId(), " ", r.GetSignal()))
			}
			return lines
		}
		ofPublic := []string{"public carol seen", "public bob x-later"}
		require.Equal(t, ofPublic, seen("carol"), "she sees neither the request nor the private message")
		all := append([]string{"request bob working", "request alice agree"}, ofPublic...)
		require.Equal(t, append(all, "private bob done"), seen("bob"))
		_, err := h.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{ChannelId: h.channel, MessageId: private, Signal: "done"})
		require.NoError(t, err)
		require.Equal(t, all, seen("bob"))
	})
}

// A page has no more reactions than a list, however many messages have them.
func TestTheReactionsInAThreadAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		root := h.note(t)
		for i := range reactionsInThread + 1 {
			h.react(t, fmt.Sprint("agent-", i), root, "seen")
		}
		require.Len(t, h.thread(t, "carol", root).GetReactions(), reactionsInThread)
		for range 11 {
			h.under(t, root, nil)
		}
		require.Len(t, h.thread(t, "carol", root).GetReactions(), 1000/12)
	})
}

// reactionsInThread is how many reactions a thread shows of one message at most.
const reactionsInThread = 100

func TestAThreadHasTheClaimOnItsRoot(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "dave", "eve")
		request := h.asks(t, quorum(2))
		public := h.under(t, request, nil)
		require.Nil(t, h.thread(t, "alice", request).GetClaim())
		claimed := h.claims(t, "bob", request)
		h.clock.Advance(time.Second)
		later := h.claims(t, "dave", request)
		for agent, holder := range map[string]*openintentv1.Claim{"alice": later, "eve": later, "dave": later, "bob": claimed} {
			shown := h.thread(t, agent, public).GetClaim()
			require.Equal(t, holder.GetHolder(), shown.GetHolder(), "%s sees its own, or the one that ends last", agent)
			require.Equal(t, holder.GetExpiresAt().AsTime(), shown.GetExpiresAt().AsTime())
		}
		require.Nil(t, h.thread(t, "carol", public).GetClaim(), "who may not see the request does not hear who works on it")
		require.NoError(t, h.release("dave", request, later.GetFence()))
		require.Equal(t, "bob", h.thread(t, "alice", request).GetClaim().GetHolder())
		h.clock.Advance(90 * time.Second)
		require.Nil(t, h.thread(t, "alice", request).GetClaim(), "its time is over, though nobody has swept")

		root := h.note(t)
		h.claims(t, "carol", root)
		require.Equal(t, "carol", h.thread(t, "alice", root).GetClaim().GetHolder())
		require.Equal(t, "carol", h.thread(t, "alice", h.under(t, root, nil)).GetClaim().GetHolder())
	})
}
