package mcp

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/e2e/releasebot"
)

// Two agents in harnesses that speak MCP, an agent of the Python SDK and a person with curl meet on one channel. Each takes part in
// its own way, and a stranger learns nothing.
func TestFourKindsOfAgentsMeetOnOneChannel(t *testing.T) {
	python := releasebot.Python(t)
	each(t, func(t *testing.T, h *house) {
		// With curl, the lead opens the intent and its channel, and gives two agents the role.
		intent := text(t, h.curl(t, "lead", "POST", "/v1/intents", `{"title":"Release 1.4","default_policy":"closed"}`), "id")
		for _, member := range []string{"mia", "ben", "release-bot"} {
			h.curl(t, "lead", "POST", "/v1/intents/"+intent+"/agents", `{"agent_id":"`+member+`"}`)
		}
		channel := text(t, h.curl(t, "lead", "POST", "/v1/intents/"+intent+"/channels", `{"name":"release"}`), "id")
		mia, ben := h.join(t, "mia"), h.join(t, "ben")
		for name, reviewer := range map[string]*agent{"mia": mia, "ben": ben} {
			h.curl(t, name, "POST", "/v1/agents", `{"role_id":"reviewer"}`)
			joined, _ := reviewer.call(t, "join", arguments{"intent": intent, "channel": "release"})
			require.Equal(t, channel, joined["channel"])
		}

		// The Python agent asks the role for one answer. Both reviewers are woken, and one claims the question.
		bot := releasebot.Start(t, python, h.GRPCAddress(), intent, "release")
		var question string
		for _, reviewer := range []*agent{mia, ben} {
			waiting, _ := reviewer.call(t, "wait", arguments{"for": "inbox", "timeout_s": 50})
			found := list(t, waiting, "messages")
			require.Len(t, found, 1)
			require.Equal(t, []any{"release-bot", "request", "may_respond"}, []any{found[0]["from"], found[0]["type"], found[0]["policy"]})
			question = text(t, found[0], "id")
		}
		mia.call(t, "claim", arguments{"message": question})
		require.Equal(t, "CLAIMED", ben.refused(t, "claim", arguments{"message": question}).Refused)
		require.Contains(t, []string{"CLAIMED", "CLAIM_REQUIRED"}, ben.refused(t, "reply", arguments{"message": question, "text": "no"}).Refused)
		mia.call(t, "reply", arguments{"message": question, "text": "It may go out."})
		require.Equal(t, object{"from": "mia", "payload": object{"text": "It may go out."}}, bot.Says(t))

		// A harness asks the Python agent.
		answered, _ := ben.call(t, "ask", arguments{"channel": channel, "to": "release-bot", "text": "Which version?"})
		require.Equal(t, true, answered["answered"])
		answer := list(t, answered, "answers")[0]
		require.Equal(t, object{"version": "1.4", "asked": "Which version?"}, answer["payload"])

		// The lead says something to everyone, who react and speak below it; the lead reads that with curl.
		said := text(t, h.curl(t, "lead", "POST", "/v1/channels/"+channel+"/messages", `{"payload":{"text":"Thank you."}}`), "id")
		mia.call(t, "mark", arguments{"messages": []string{said}, "signal": "agree"})
		ben.call(t, "send", arguments{"channel": channel, "thread": said, "text": "Gladly."})
		thread := h.curl(t, "lead", "GET", "/v1/channels/"+channel+"/messages/"+said+"/thread", "")
		require.Len(t, list(t, thread, "reactions"), 1)
		require.Len(t, list(t, thread, "messages"), 1)
		read, _ := mia.call(t, "read", arguments{"thread": said})
		require.Equal(t, "Gladly.", list(t, read, "messages")[0]["text"])

		// What is said to one agent nobody else sees, and a stranger sees nothing.
		mia.call(t, "send", arguments{"channel": channel, "to": "ben", "text": "between us"})
		for _, other := range []string{"lead", "release-bot"} {
			seen := h.request(t, other, "GET", "/v1/channels/"+channel+"/messages", "")
			require.Contains(t, string(seen), "Gladly.")
			require.NotContains(t, string(seen), "between us")
		}
		_, own := ben.call(t, "inbox", nil)
		require.Contains(t, own, "between us")
		stranger := h.stranger(t)
		for tool, given := range map[string]arguments{
			"read": {"channel": channel}, "wait": {"for": channel}, "send": {"channel": channel, "text": "let me in"},
			"claim": {"message": question}, "join": {"intent": intent, "channel": "release"},
		} {
			stranger.refused(t, tool, given)
		}
	})
}

// curl makes a call over REST as somebody who has nothing else, and returns the object that it answers with.
func (h *house) curl(t *testing.T, agent, method, path, body string) (answer object) {
	t.Helper()
	output := h.request(t, agent, method, path, body)
	require.NoError(t, json.Unmarshal(output, &answer), "%s", output)
	return answer
}

// request does what curl does for an answer of any form.
func (h *house) request(t *testing.T, agent, method, path, body string) []byte {
	t.Helper()
	given := []string{"-sS", "--fail-with-body", "-X", method, "-H", "X-API-Key: " + harness.Key, "-H", "X-Agent-ID: " + agent}
	if body != "" {
		given = append(given, "-d", body)
	}
	output, err := exec.Command("curl", append(given, h.BaseURL()+path)...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", method, path, output)
	return output
}
