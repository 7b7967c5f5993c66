package mcp

import (
	"encoding/json"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// said is what a tool says, whichever tool it is.
type said struct {
	Message  string        `json:"message"`
	Answered bool          `json:"answered"`
	Answers  []saidMessage `json:"answers"`
	Over     string        `json:"over"`
	Cursor   string        `json:"cursor"`
	Messages []saidMessage `json:"messages"`
	// Hint says what to do next.
	Hint    string `json:"hint"`
	ID      string `json:"id"`
	Refused string `json:"refused"`
}

type saidMessage struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	Policy string `json:"policy"`
	Text   string `json:"text"`
}

func textsOf(messages []saidMessage) []string {
	all := []string{}
	for _, m := range messages {
		all = append(all, m.Text)
	}
	return all
}

// saidIn reads a tool's answer.
func saidIn(t *testing.T, result *sdk.CallToolResult) (answer said) {
	t.Helper()
	require.Len(t, result.Content, 1)
	text, ok := result.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(text.Text), &answer), text.Text)
	require.Equal(t, result.IsError, answer.Refused != "", text.Text)
	return answer
}

// pending is a call of a tool that goes on meanwhile.
type pending struct {
	ended  chan struct{}
	result *sdk.CallToolResult
	err    error
}

// says calls a tool that asks or waits, and returns what it says.
func (a *agent) says(t *testing.T, tool string, given arguments) said {
	t.Helper()
	return within(t, a.meanwhile(t, tool, given))
}

// meanwhile calls a tool and does not wait for its answer.
func (a *agent) meanwhile(t *testing.T, tool string, given arguments) *pending {
	t.Helper()
	call := &pending{ended: make(chan struct{})}
	go func() {
		defer close(call.ended)
		call.result, call.err = a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
	}()
	return call
}

// within waits for what a call says.
func within(t *testing.T, call *pending) said {
	t.Helper()
	select {
	case <-call.ended:
		require.NoError(t, call.err)
		return saidIn(t, call.result)
	case <-time.After(harness.Patience):
		require.Fail(t, "the call does not end")
		return said{}
	}
}

// openChannel makes an intent with a channel in it.
func openChannel(t *testing.T, h *house, policy openintentv1.MemberPolicy, members ...string) *openintentv1.Channel {
	t.Helper()
	alice := h.As("alice")
	intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
	require.NoError(t, err)
	channel, err := alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "work", MemberPolicy: &policy, Members: members,
	})
	require.NoError(t, err)
	return channel
}

// awaitQuestion waits until a question is in an agent's inbox, and returns it.
func awaitQuestion(t *testing.T, h *house, agent string) *openintentv1.Message {
	t.Helper()
	inbox, err := h.As(agent).Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{
		AgentId: agent, WaitSeconds: new(harness.Patience.Seconds()),
	})
	require.NoError(t, err)
	require.NotEmpty(t, inbox.GetItems())
	return inbox.GetItems()[0].GetMessage()
}
