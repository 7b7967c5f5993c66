package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/story"
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
		alice.does(t, "ask", "data", "role:builder", "{}", "--no-wait", "--expires", "1h", "--collect", "2", "--parent", asked, "--mention", "bob",
			"--metadata", `{"k":"v"}`)
		gone := alice.does(t, "notify", "data", "role:builder", "--text", "Never mind.")
		channel, id, _ := strings.Cut(gone, "/")
		client, err := openintent.Dial(openintent.Options{Server: alice.server.GRPCAddress(), APIKey: harness.Key, AgentID: "alice"})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		_, err = client.DeleteMessage(t.Context(), channel, id)
		require.NoError(t, err)

		told, err := story.Read(strings.NewReader(operator.does(t, "export", intent, "--story")))
		require.NoError(t, err)
		require.Equal(t, []story.Channel{{Name: "data", MemberPolicy: "intent"}}, told.Channels)
		require.Equal(t, []story.Agent{{ID: "alice"}, {ID: "bob", Role: "builder"}}, told.Agents)
		said := told.Lines
		require.Len(t, said, 4)
		request := said[0]
		require.Equal(t, "alice bob request The lexer high halted", strings.Join([]string{
			request.Sender, request.To, request.MessageType, request.Subject, request.Priority, request.Blocks,
		}, " "))
		require.Zero(t, request.AfterSeconds)
		require.Equal(t, []string{"bob"}, request.Woken)
		require.Equal(t, map[string]string{"bob": "responded"}, request.Dispositions)
		require.Equal(t, request.ID, said[1].Answers)
		require.Equal(t, map[string]any{"text": "It is repaired."}, said[1].Payload)
		require.Contains(t, bob.refused(t, exitRefused, "export", intent, "--story"), "only the operator may see")
		require.Equal(t, "status", said[2].Kind)
		require.GreaterOrEqual(t, said[2].AfterSeconds, said[1].AfterSeconds)
		require.Equal(t, "role:builder", said[3].To)
		require.InDelta(t, time.Hour.Seconds(), said[3].Seconds, 60)
		require.Equal(t, "map[quorum:2]", fmt.Sprint(said[3].Collect))
		require.Equal(t, request.ID, said[3].Parent)
		require.Equal(t, []string{"bob"}, said[3].Mentions)
		require.Equal(t, map[string]any{"k": "v"}, said[3].Metadata)
	})
}

func TestAStoryNeedsAnIntentThatThereIs(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		require.Contains(t, alice.refused(t, exitNotFound, "export", "00000000-0000-0000-0000-000000000000", "--story"), "intent")
		require.Contains(t, alice.refused(t, exitUsage, "export", os.Getenv("OPENINTENT_INTENT_ID")), "--story")
	})
}

// A channel may have more than one page of a list holds.
func TestAStoryHasEveryMessage(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		intent := os.Getenv("OPENINTENT_INTENT_ID")
		client, err := openintent.Dial(openintent.Options{Server: alice.server.GRPCAddress(), APIKey: harness.Key, AgentID: "alice"})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		channel, err := client.Open(t.Context(), intent, "data", openintent.ChannelOptions{})
		require.NoError(t, err)
		const all = 40
		long := strings.Repeat("long ", 100<<10/5)
		for range all {
			_, err := channel.Broadcast(t.Context(), map[string]any{"text": long})
			require.NoError(t, err)
		}
		told, err := story.Read(strings.NewReader(shell{server: alice.server}.does(t, "export", intent, "--story")))
		require.NoError(t, err)
		require.Len(t, told.Lines, all)
	})
}
