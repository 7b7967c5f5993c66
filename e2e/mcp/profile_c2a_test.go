package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/e2e/harness"
)

// The tools of the Chat-to-Agents protocol are a profile: an address with ?tools=c2a has these seven and no other.
func TestTheProfileForC2A(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		bob := h.connectTo(t, "/mcp?tools=c2a", harness.Key, "bob", newest, nil)
		list, err := bob.ListTools(t.Context(), &sdk.ListToolsParams{})
		require.NoError(t, err)
		require.Len(t, list.Tools, 7)
		sent := s.says(t, "which?")
		waiting, _ := bob.call(t, "chat.list_events", nil)
		event := list0(t, waiting, "events")
		require.Equal(t, sent.GetId(), event["eventId"])
		bob.call(t, "chat.react", arguments{"inReplyTo": sent.GetId(), "signal": "working"})
		bob.call(t, "chat.send_message", arguments{
			"target": object{"conversationId": s.channel}, "content": "the second", "inReplyTo": sent.GetId(), "idempotencyKey": "k",
			"visibility": "dm", "directedness": "to_me",
		})
		require.Equal(t, "INVALID_FIELD", bob.refused(t, "chat.react", arguments{"inReplyTo": sent.GetId()}).Refused)
	})
}

// list0 returns the first object of a list in an answer.
func list0(t *testing.T, answer object, name string) object {
	t.Helper()
	found := list(t, answer, name)
	require.NotEmpty(t, found)
	return found[0]
}
