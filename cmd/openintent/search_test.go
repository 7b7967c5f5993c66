package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestMessagesAreFoundByTheirWords(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		alice.does(t, "broadcast", "data", "--text", "The parser\nbroke", "--kind", "plan")
		alice.does(t, "notify", "data", "bob", "--text", "Another parser")
		require.Eventually(t, func() bool {
			return strings.Count(bob.does(t, "search", "parser"), "\n") == 2
		}, harness.Patience, 50*time.Millisecond)
		require.Equal(t, "MESSAGE SENT SENDER TO CHANNEL TEXT\nchan-1/msg-2 TIME alice * data The parser broke",
			squeezed(masked(bob.does(t, "search", "broke", `"the parser"`, "--sender", "alice", "--to", "*", "--kind", "plan", "--after", "1h"))))
		require.Contains(t, alice.does(t, "search", "parser", "--limit", "1", "--json"), `"snippet":"Another parser"`)
		require.Equal(t, "MESSAGE SENT SENDER TO CHANNEL TEXT", squeezed(bob.does(t, "search", "parser", "--before", "1h")))
		require.Contains(t, bob.refused(t, exitUsage, "search", "."), "[INVALID_FIELD]")
		require.Contains(t, bob.refused(t, exitUsage, "search", "a", "--after", "yesterday"), "--after takes a time")
		require.Contains(t, bob.refused(t, exitUsage, "search", "a", "--limit", "-1"), "--limit")
		require.Contains(t, bob.refused(t, exitUsage, "search", "a", "--thread", "x"), "names no message")

		root := alice.does(t, "messages", "data", "--ids", "--type", "broadcast")
		channel, _, _ := strings.Cut(root, "/")
		below := alice.does(t, "notify", "data", "bob", "--text", "Below the parser", "--parent", root)
		elsewhere := alice.does(t, "intents", "create", "Elsewhere")
		require.Eventually(t, func() bool { return bob.does(t, "search", "below", "--ids") == below }, harness.Patience, 50*time.Millisecond)
		require.Equal(t, 2, rows(bob.does(t, "search", "parser", "--thread", root)), "its first message, and the one below it")
		require.Equal(t, 3, rows(bob.does(t, "search", "parser", "--channel", channel, "--intent", os.Getenv("OPENINTENT_INTENT_ID"))))
		require.Equal(t, 0, rows(bob.does(t, "search", "parser", "--channel", alice.does(t, "channels", "create", "other"))))
		require.Equal(t, 0, rows(bob.does(t, "search", "parser", "--intent", elsewhere)))
	})
}

func TestASearchSaysWhyItMayLackSomething(t *testing.T) {
	for said, page := range map[string]*openintentv1.SearchMessagesResponse{
		"lacks up to 7;": {MessagesLeft: 7},
		"of 2 intents;":  {IntentsNotIndexed: 2},
		"still filling":  {},
	} {
		require.Contains(t, incomplete(page), said)
	}
	require.Empty(t, incomplete(&openintentv1.SearchMessagesResponse{CompleteThrough: timestamppb.Now()}))
}
