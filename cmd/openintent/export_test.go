package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
)

// A story has what agents said, in order, with what became of it, and nothing of the server's own messages or of what was deleted.
func TestAStoryIsWrittenFromTheRecord(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		operator := shell{server: alice.server}
		intent := os.Getenv("OPENINTENT_INTENT_ID")
		operator.does(t, "agents", "register", "bob", "--role", "builder")
		asked := alice.does(t, "ask", "data", "bob", "--no-wait", "--subject", "The lexer", "--priority", "high", "--obligation", "halted", "--text", "Repair it!")
		bob.does(t, "reply", asked, "--text", "It is repaired.")
		alice.does(t, "broadcast", "data", "--kind", "status", "--text", "It goes on.")
		gone := alice.does(t, "notify", "data", "role:builder", "--text", "Never mind.")
		channel, id, _ := strings.Cut(gone, "/")
		client, err := openintent.Dial(openintent.Options{Server: alice.server.GRPCAddress(), APIKey: harness.Key, AgentID: "alice"})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		_, err = client.DeleteMessage(t.Context(), channel, id)
		require.NoError(t, err)

		lines := strings.Split(operator.does(t, "export", intent, "--story"), "\n")
		require.Len(t, lines, 4)
		var head story
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &head))
		require.Equal(t, storyVersion, head.Story)
		require.Equal(t, []storyChannel{{Name: "data", MemberPolicy: "intent"}}, head.Channels)
		require.Equal(t, []storyAgent{{ID: "alice"}, {ID: "bob", Role: "builder"}}, head.Agents)
		var said [3]storyLine
		for i := range said {
			require.NoError(t, json.Unmarshal([]byte(lines[i+1]), &said[i]))
		}
		request := said[0]
		require.Equal(t, "alice bob request The lexer high halted", strings.Join([]string{
			request.Sender, request.To, request.MessageType, request.Subject, request.Priority, request.Blocks,
		}, " "))
		require.Zero(t, request.AfterSeconds)
		require.Equal(t, []string{"bob"}, request.Woken)
		require.Equal(t, map[string]string{"bob": "responded"}, request.Dispositions)
		require.Equal(t, request.ID, said[1].Answers)
		require.Equal(t, map[string]any{"text": "It is repaired."}, said[1].Payload)
		require.Equal(t, "status", said[2].Kind)
		require.GreaterOrEqual(t, said[2].AfterSeconds, said[1].AfterSeconds)
	})
}

func TestAStoryNeedsAnIntentThatThereIs(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		require.Contains(t, alice.refused(t, exitNotFound, "export", "00000000-0000-0000-0000-000000000000", "--story"), "intent")
		require.Contains(t, alice.refused(t, exitUsage, "export", os.Getenv("OPENINTENT_INTENT_ID")), "--story")
	})
}
