package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

func TestWhatNeedsAnAgentIsListed(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		nothing := bob.run(t.Context(), "concerns")
		require.Equal(t, outcome{exitOK, "", "nothing needs bob\n"}, nothing)
		require.Equal(t, outcome{exitOK, "", ""}, bob.run(t.Context(), "concerns", "--json"))
		require.Equal(t, outcome{exitOK, "", ""}, bob.run(t.Context(), "concerns", "--quiet"))

		request := alice.does(t, "ask", "data", "bob", `{"question": "which?"}`, "--no-wait")
		require.Equal(t, "question  TIME  alice asks on channel \"data\", and waits for an answer.\n"+
			"          chan-1/msg-2  answer, claim, decline, defer", masked(bob.does(t, "concerns")))
		require.Contains(t, bob.does(t, "concerns"), request, "the reference is what other commands take")
		listed := bob.does(t, "concerns", "--json")
		require.Equal(t, 1, strings.Count(listed+"\n", "\n"), "one object on a line")
		for _, member := range []string{`"kind":"question"`, `"agent_id":"alice"`, `"subscription_id":null`, `"actions":["answer","claim","decline","defer"]`} {
			require.Contains(t, listed, member)
		}
		require.Empty(t, alice.does(t, "concerns", "--kind", "question"), "it waits for bob")

		bob.does(t, "react", request, "declined", "--note", "I only write")
		require.Empty(t, bob.does(t, "concerns"))
	})
}

func TestConcernsAreFiltered(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		alice.does(t, "ask", "data", "bob", "{}", "--no-wait")
		carol := shell{server: alice.server, agent: "carol"}
		carol.does(t, "ask", "data", "bob", "{}", "--no-wait")
		elsewhere := alice.does(t, "intents", "create", "Another")
		alice.does(t, "channels", "create", "other", "--intent", elsewhere)
		alice.does(t, "ask", "other", "bob", "{}", "--no-wait", "--intent", elsewhere)
		for filter, count := range map[string]int{
			"": 3, "--kind question": 3, "--kind unanswered": 0, "--kind holder_lost": 0, "--about alice": 2, "--about carol": 1, "--about dora": 0,
			"--intent " + elsewhere: 1, "--intent nowhere": 0, "--about carol --kind question": 1, "--about carol --intent " + elsewhere: 0,
		} {
			require.Equal(t, count, strings.Count(bob.does(t, append([]string{"concerns"}, strings.Fields(filter)...)...), "asks on channel"), filter)
		}
		require.Contains(t, bob.refused(t, exitUsage, "concerns", "--kind", "questions"), "question")
		require.Contains(t, bob.refused(t, exitUsage, "concerns", "--limit=-1"), "--limit must be zero or above")
		require.Contains(t, bob.refused(t, exitUsage, "concerns", "--about", "a\tb\x00"), "agent_id")
		stranger := bob
		stranger.key = "wrong"
		require.Contains(t, stranger.refused(t, exitRefused, "concerns"), "[API_KEY_UNKNOWN]")
	})
}

// A long list comes in pages, which the command reads one after the other.
func TestConcernsGoOnToTheNextPage(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		channel, _, _ := strings.Cut(alice.does(t, "ask", "data", "bob", "{}", "--no-wait"), "/")
		for i := range concernsAtOnce + 4 {
			answer := alice.server.As("alice").REST(t, "POST", "/v1/channels/"+channel+"/messages",
				fmt.Sprintf(`{"to":"bob","message_type":"request","payload":{"n":%d}}`, i))
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
		}
		count := func(arguments ...string) (int, string) {
			t.Helper()
			did := bob.run(t.Context(), append([]string{"concerns"}, arguments...)...)
			require.Equal(t, exitOK, did.exit, did.stderr)
			return strings.Count(did.stdout, "asks on channel"), did.stderr
		}
		for limit, wanted := range map[string]int{"1": 1, "": 100, "103": 103, "105": 105, "0": 105, "200": 105} {
			arguments := []string{}
			if limit != "" {
				arguments = []string{"--limit", limit}
			}
			found, noted := count(arguments...)
			require.Equal(t, wanted, found, limit)
			if wanted < concernsAtOnce+5 {
				require.Equal(t, "there may be more; --limit 0 shows all\n", noted)
			} else {
				require.Empty(t, noted, limit)
			}
		}
	})
}

// A request that nobody takes up, and that nobody can hear, is a concern of its sender and of the operator, and of nobody else.
func TestConcernsOfOtherKinds(t *testing.T) {
	clearEnvironment(t)
	clock := databasetest.NewClock()
	clock.Set(time.Now())
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.Clock = clock.Now }})
	withData(t, h, func(t *testing.T, alice, bob shell) {
		alice.does(t, "ask", "data", "nobody", "{}", "--no-wait")
		clock.Advance(11 * time.Minute)
		require.Equal(t, "unanswered   TIME  nobody has not taken up the request of alice on channel \"data\".\n"+
			"             chan-1/msg-2  withdraw\n"+
			"unreachable  TIME  Nothing of nobody listens, and the request of alice on channel \"data\" waits for it.\n"+
			"             chan-1/msg-2  invite", masked(alice.does(t, "concerns")))
		operator := shell{server: h}
		require.Contains(t, masked(operator.does(t, "concerns", "--kind", "unanswered")), "chan-1/msg-2  withdraw")
		require.Empty(t, bob.does(t, "concerns"), "they are none of bob's")
	})
}

func TestWhatAConcernIsAbout(t *testing.T) {
	text := func(s string) *string { return &s }
	for subject, one := range map[string]*openintentv1.Concern{
		"chan/msg": {IntentId: text("intent"), ChannelId: text("chan"), MessageId: text("msg")},
		"sub":      {IntentId: text("intent"), SubscriptionId: text("sub")},
		"task":     {IntentId: text("intent"), AgentId: text("bob"), TaskId: text("task")},
		"chan":     {IntentId: text("intent"), ChannelId: text("chan")},
		"intent":   {IntentId: text("intent"), AgentId: text("bob")},
	} {
		require.Equal(t, subject, subjectOf(one))
	}
}
