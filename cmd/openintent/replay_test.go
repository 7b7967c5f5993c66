package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server/jsonform"
)

// recording is a conversation of four agents that was held through the API: alice leads, bob builds, carol reviews, and ci reports.
type recording struct {
	alice, bob, carol, ci, operator shell

	intent string
	// blocks are what the server told bob of each message when it had been sent, in order.
	blocks []asked
	// after is called after each message; nil for nothing.
	after func()
}

// asked is what a message asks of its recipient.
type asked struct{ Directedness, Policy, Injection, Reason string }

// say sends a message, and notes what it asks of bob.
func (r *recording) say(t *testing.T, by shell, words ...string) (message string) {
	t.Helper()
	message = by.does(t, words...)
	if r.after != nil {
		r.after()
	}
	if by.agent == "bob" {
		return message
	}
	channel, id, _ := strings.Cut(message, "/")
	told, err := r.alice.server.Operator().Attention.GetAttention(t.Context(), &openintentv1.GetAttentionRequest{
		ChannelId: channel, MessageId: id, AgentId: new("bob"),
	})
	require.NoError(t, err)
	form, err := jsonform.Encode(told)
	require.NoError(t, err)
	var block asked
	require.NoError(t, json.Unmarshal(form, &block))
	if block.Policy != "" {
		r.blocks = append(r.blocks, block)
	}
	return message
}

// newRecording returns the agents before they have said anything.
func newRecording(alice, bob shell) *recording {
	return &recording{
		alice: alice, bob: bob, carol: shell{server: alice.server, agent: "carol"}, ci: shell{server: alice.server, agent: "ci"},
		operator: shell{server: alice.server}, intent: os.Getenv("OPENINTENT_INTENT_ID"),
	}
}

// record holds the conversation.
func record(t *testing.T, alice, bob shell) *recording {
	r := newRecording(alice, bob)
	r.converse(t)
	return r
}

func (r *recording) converse(t *testing.T) {
	alice, bob := r.alice, r.bob
	r.operator.does(t, "agents", "register", "bob", "--role", "builder")
	r.operator.does(t, "agents", "register", "carol", "--role", "reviewer")

	plan := r.say(t, alice, "broadcast", "data", "--subject", "Plan", "--kind", "plan",
		"--text", "Today we repair the lexer and then the parser. Bob builds, Carol reviews, and nothing is merged without her.")
	asked := r.say(t, alice, "ask", "data", "bob", "--no-wait", "--subject", "The lexer",
		"--text", "The lexer drops the last token of a file without a line break at its end. Can you repair that?")
	bob.does(t, "react", asked, "working")
	for _, step := range []string{"checkout", "lint", "unit tests", "race tests", "packages"} {
		r.say(t, r.ci, "broadcast", "data", "--kind", "status", "--subject", step, "--text",
			"Step "+step+" of build 4711 has ended. The full log has "+strings.Repeat("many lines, and ", 20)+"no errors.")
	}
	r.say(t, bob, "reply", asked, "--text", "It is repaired; the test for it is in the same commit.")
	r.say(t, alice, "notify", "data", "bob", "--text", "Thanks!")
	r.say(t, r.carol, "ask", "data", "role:builder", "--no-wait", "--text", "Which commit shall I review?")
	r.say(t, bob, "notify", "data", "*", "--parent", plan, "--text", "The lexer is done.")
	r.say(t, r.carol, "notify", "data", "*", "--parent", plan, "--text", "I begin with the review.")
	r.say(t, r.carol, "broadcast", "data", "--text", "@bob, line 12 has a mistake. See also the style guide.")
	r.say(t, r.carol, "notify", "data", "carol-2", "--text", "Not for bob.")
	r.say(t, r.ci, "broadcast", "data", "--kind", "ci.result", "--text", "Build 4712 is green."+strings.Repeat(" All is well.", 20))
	r.say(t, alice, "ask", "data", "bob", "--no-wait", "--obligation", "halted", "--subject", "The release", "--text", "Tag the release.")
	r.say(t, alice, "ask", "data", "bob", "--no-wait", "--priority", "urgent", "--text", "Stop: what broke the build?")
}

// chatter lets alice and bob answer nobody but each other, below a message or, without one, in the channel, and lets alice write to carol
// in between.
func (r *recording) chatter(t *testing.T, count int, below ...string) {
	for i := range count {
		from, to := r.alice, "bob"
		if i%2 == 1 {
			from, to = r.bob, "alice"
		}
		r.say(t, from, append([]string{"notify", "data", to, "--text", "And you?"}, below...)...)
		if i == count/2 {
			r.say(t, r.alice, append([]string{"notify", "data", "carol", "--text", "He is polite."}, below...)...)
		}
	}
}

func TestAReplayJudgesWhatAnAgentReceived(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		r := record(t, alice, bob)
		require.Equal(t, `MESSAGE SENT SENDER TYPE POLICY INJECTION REASON DISPOSITION SUBJECT
chan-1/msg-2 TIME alice broadcast must_not_respond tool_mailbox ambient Plan
chan-1/msg-3 TIME alice request must_respond buffered direct_request responded The lexer
chan-1/msg-4 TIME ci broadcast must_not_respond digest status checkout
chan-1/msg-5 TIME ci broadcast must_not_respond digest status lint
chan-1/msg-6 TIME ci broadcast must_not_respond digest status unit tests
chan-1/msg-7 TIME ci broadcast must_not_respond digest status race tests
chan-1/msg-8 TIME ci broadcast must_not_respond digest status packages
chan-1/msg-9 TIME alice notify ack_only notify direct_notify
chan-1/msg-: TIME carol request may_respond notify role_request
chan-1/msg-; TIME carol notify may_respond notify thread
chan-1/msg-< TIME carol broadcast must_respond buffered mention
chan-1/msg-= TIME ci broadcast must_not_respond tool_mailbox ambient
chan-1/msg-> TIME alice request must_respond buffered obligation The release
chan-1/msg-? TIME alice request must_respond immediate direct_request

TOTAL COUNT
messages 14
whole 4
deliveries of these 4
knocks 3
digested 5
digests 0
left in the mailbox 2
must respond 4
may respond 2
acknowledge only 1
must not respond 7
braked 0
never disposed of 6
of these, must respond 3
characters in all 2786
characters delivered 2786
characters shown 577`, squeezed(masked(bob.does(t, "replay", r.intent))))
		require.Equal(t, bob.does(t, "replay", r.intent), r.operator.does(t, "replay", r.intent, "--about", "bob"))
	})
}

func TestAReplayUnderOtherRules(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		r := record(t, alice, bob)
		quieter := file(t, "digested_kinds: [status, ci.result]\ndigest_seconds: 86400\ncompose_seconds: 600\ncompose_most_seconds: 3600\n")
		printed := strings.Split(bob.does(t, "replay", r.intent, "--rules", quieter, "--json"), "\n")
		require.Len(t, printed, 15)
		var end struct{ Totals map[string]any }
		require.NoError(t, json.Unmarshal([]byte(printed[14]), &end))
		require.Equal(t, map[string]any{
			"messages": 14., "full_deliveries": 2., "full": 4., "knocks": 3., "digested": 7., "digests": 1., "mailbox": 0.,
			"must_respond": 4., "may_respond": 2., "ack_only": 1., "must_not_respond": 7., "braked": 0., "never_disposed": 6.,
			"must_respond_never_disposed": 3.,
			"characters":                  map[string]any{"whole": 2786., "delivered": 1257., "shown": 1487.},
		}, end.Totals)
		require.Contains(t, printed[11], `"injection":"digest","reason":"status"`)

		braking := file(t, "turn_budget: 2\n")
		braked := bob.does(t, "replay", r.intent, "--rules", braking, "--json")
		require.Contains(t, braked, `"policy":"must_not_respond","injection":"tool_mailbox","reason":"loop_brake"`)
		require.Contains(t, braked, `"policy":"must_respond","injection":"buffered","reason":"obligation"`, "obligations are exempt")
	})
}

func TestAReplayShowsWhatWasNeverDisposedOf(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		r := record(t, alice, bob)
		open := bob.does(t, "replay", r.intent, "--never-disposed")
		require.Contains(t, open, "The release")
		require.NotContains(t, open, "The lexer")
		require.NotContains(t, open, "checkout", "it asks nothing")

		late := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1s", "--subject", "Too late")
		require.Contains(t, r.operator.does(t, "replay", r.intent, "--about", "bob"), late)
		require.Eventually(t, func() bool {
			return !strings.Contains(bob.does(t, "replay", r.intent), late)
		}, harness.Patience, 50*time.Millisecond, "an agent no longer sees what has expired")
		require.Contains(t, r.operator.does(t, "replay", r.intent, "--about", "bob", "--never-disposed"), late, "the operator does")
	})
}

func TestWhoMayReplay(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		intent := os.Getenv("OPENINTENT_INTENT_ID")
		require.Contains(t, bob.refused(t, exitRefused, "replay", intent, "--about", "alice"), "only the operator replays for other agents")
		operator := shell{server: alice.server}
		require.Contains(t, operator.refused(t, exitUsage, "replay", intent), "say for which agent to replay, with --about or --agent")
		require.Contains(t, bob.refused(t, exitNotFound, "replay", "00000000-0000-4000-8000-000000000000"), "[INTENT_NOT_FOUND]")
		wrong := file(t, "turnbudget: 2\n")
		require.Contains(t, bob.refused(t, exitUsage, "replay", intent, "--rules", wrong), `:`+` line 1: "turnbudget" is no rule`)

		closed := alice.does(t, "intents", "create", "Private", "--default-policy", "closed")
		require.Equal(t, exitRefused, bob.run(t.Context(), "replay", closed).exit, "a stranger")
	})
}
