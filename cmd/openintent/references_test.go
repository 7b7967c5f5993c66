package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever takes a message takes the channel's name in place of its id.
func TestAMessageIsNamedByTheNameOfItsChannel(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		question := alice.does(t, "ask", "data", "bob", "--text", "Ready?", "--no-wait", "--obligation", "none")
		channel, message, _ := strings.Cut(question, "/")
		byName := "data/" + message
		require.Contains(t, bob.does(t, "react", byName, "working"), "working")
		require.Contains(t, bob.does(t, "claim", byName), message)
		require.Contains(t, bob.does(t, "why", byName), "An answer is expected of it.")
		require.Contains(t, alice.does(t, "thread", byName), "Ready?")
		bob.does(t, "reply", byName, "--text", "Yes.")
		require.Contains(t, alice.does(t, "ask", "--resume", byName), "Yes.")
		require.Contains(t, alice.does(t, "owed", "--discharge", byName), message)
		below := alice.does(t, "notify", "data", "bob", "{}", "--parent", byName)
		require.Contains(t, alice.does(t, "thread", byName, "--json"), strings.TrimPrefix(below, channel+"/"))

		intent := os.Getenv("OPENINTENT_INTENT_ID")
		t.Setenv("OPENINTENT_INTENT_ID", "")
		require.Contains(t, bob.does(t, "thread", byName, "--intent", intent), "Ready?")
		require.Contains(t, bob.refused(t, exitUsage, "thread", byName), "use --intent")
	})
}

// With --ids a list is the ids alone, which other commands take.
func TestIDsAreListedAlone(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		first := alice.does(t, "notify", "data", "bob", "--text", "one parrot")
		second := alice.does(t, "ask", "data", "bob", "--text", "two", "--no-wait")
		channel, question, _ := strings.Cut(second, "/")
		require.Equal(t, first+"\n"+second, alice.does(t, "messages", "data", "--ids"))
		require.Equal(t, strings.TrimPrefix(first, channel+"/")+"\n"+question, bob.does(t, "inbox", "--ids"))
		bob.does(t, "reply", question, "--text", "yes")
		require.Equal(t, channel, alice.does(t, "channels", "--ids"))
		require.Equal(t, os.Getenv("OPENINTENT_INTENT_ID"), alice.does(t, "intents", "--ids"))
		alice.does(t, "agents", "register", "alice")
		require.Equal(t, "alice", alice.does(t, "agents", "--ids"))
		require.Empty(t, alice.does(t, "agents", "--ids", "--role", "none"))
	})
}
