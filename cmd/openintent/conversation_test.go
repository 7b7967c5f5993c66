package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAThreadIsATree(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		root := alice.does(t, "broadcast", "data", "--text", "Shall\nwe?\u202e", "--subject", "Shipping", "--kind", "plan", "--priority", "high")
		first := bob.does(t, "notify", "data", "*", "-p", "content=Later", "--parent", root, "--mention", "alice", "--mention", "role:x")
		alice.does(t, "notify", "data", "bob", "{}", "--parent", first, "--mention", "")
		require.Equal(t, "AGENT SIGNAL SINCE ETA NOTE\nbob working TIME noon soon",
			squeezed(masked(bob.does(t, "react", root, "working", "--note", "soon", "--eta", "noon"))))
		require.Equal(t, `TIME  alice to *, broadcast (plan): Shipping
  Shall we?\u202e
  * bob: working, soon (noon)
  TIME  bob to *, notify
    Later
    TIME  alice to bob, notify`, masked(alice.does(t, "thread", first)))
		require.Equal(t, "AGENT SIGNAL SINCE ETA NOTE", squeezed(bob.does(t, "react", root, "working", "--remove")))
		page := alice.does(t, "thread", root, "--json")
		require.Contains(t, page, `"priority":"high"`)
		require.Contains(t, page, `"mentions":["alice","role:x"]`)

		channel, message, _ := strings.Cut(root, "/")
		path := "/v1/channels/" + channel + "/messages/" + message
		require.Equal(t, 200, alice.server.As("alice").REST(t, "PATCH", path, `{"payload":{"text":"Shall we not?"}}`).Status)
		require.Contains(t, alice.does(t, "thread", root), "broadcast (plan): Shipping [edited]\n  Shall we not?\n")
		require.Equal(t, 200, alice.server.As("alice").REST(t, "DELETE", path, "").Status)
		require.Contains(t, alice.does(t, "thread", root), "  [deleted]\n")
		carol := shell{server: alice.server, agent: "carol"}
		require.Contains(t, carol.refused(t, exitNotFound, "thread", reference(strings.Split(root, "/")[0], "msg_00000000000000000000000000")),
			"[MESSAGE_NOT_FOUND]")
		require.Contains(t, alice.refused(t, exitUsage, "react", root, "dancing"), "signal")
		require.Contains(t, alice.refused(t, exitUsage, "react", root, "seen", "--remove", "--note", "x"), "--remove takes no --note")
		require.Contains(t, alice.refused(t, exitUsage, "notify", "data", "*", "{}", "--parent", "x"), "names no message")
	})
}

func TestAClaimIsHeldWhileACommandRuns(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		operator := shell{server: alice.server}
		for _, agent := range []string{"bob", "carol"} {
			operator.does(t, "agents", "register", agent, "--role", "desk")
		}
		carol := shell{server: alice.server, agent: "carol"}
		request := alice.does(t, "ask", "data", "role:desk", "{}", "--no-wait", "--collect", "one")
		require.Contains(t, bob.refused(t, exitConflict, "reply", request, "{}"), "[CLAIM_REQUIRED]")
		claimed := bob.does(t, "claim", request)
		require.Regexp(t, `(?m)^holder   bob$`, claimed)
		require.Contains(t, carol.does(t, "thread", request), "* claimed by bob")
		fence := strings.Fields(claimed[strings.Index(claimed, "fence"):])[1]
		holding := func(words ...string) outcome { // what stands after -- belongs to the command
			return at(t, "", slices.Concat([]string{"claim", request}, carol.connection(), []string{"--"}, words)...)
		}
		refused := holding("true")
		require.Equal(t, exitConflict, refused.exit)
		require.Contains(t, refused.stderr, "[CLAIMED]")
		require.Contains(t, bob.does(t, "claim", request, "--fence", fence, "--ttl", "1m"), fence, "it is renewed")
		bob.does(t, "claim", request, "--release", "--fence", fence)

		did := holding("sh", "-c", "echo fence $OPENINTENT_CLAIM_FENCE; exit 3")
		require.Equal(t, 3, did.exit, "the command's own")
		require.Regexp(t, `^fence \d+\n$`, did.stdout)
		claimed = bob.does(t, "claim", request)
		fence = strings.Fields(claimed[strings.Index(claimed, "fence"):])[1]
		bob.does(t, "reply", request, "{}", "--fence", fence, "--subject", "Done")
		require.Contains(t, carol.refused(t, exitConflict, "claim", request), "[ANSWERED]")

		for _, wrong := range [][]string{
			{"claim", request, "--release"}, {"claim", request, "--ttl", "2h"}, {"claim", request, "--fence", "7", "--", "true"},
		} {
			did := at(t, "", append(wrong[:2:2], append(bob.connection(), wrong[2:]...)...)...)
			require.Equal(t, exitUsage, did.exit, did.stderr)
		}
	})
}

func TestWhyAMessageWakesAnAgent(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		asked := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		explained := bob.does(t, "why", asked)
		require.Contains(t, explained, "The message is for this agent itself. (to_me)\nAn answer is expected of it. (must_respond)\n")
		require.Regexp(t, `It expires in (1h0m0s|59m\S+)\.\nThe rule that decided: direct_request\.`, explained)
		require.Contains(t, squeezed(explained), "RULE EFFECT\n")
		require.Equal(t, explained[:100], alice.does(t, "why", asked, "--about", "bob")[:100], "its sender may ask about others")
		require.Contains(t, alice.does(t, "why", asked), "asks nothing of this agent")
		carol := shell{server: alice.server, agent: "carol"}
		carol.refused(t, exitNotFound, "why", asked)
		carol.refused(t, exitNotFound, "why", asked, "--about", "bob")
		require.Contains(t, bob.does(t, "why", asked, "--json"), `"reason":"direct_request"`)

		bob.does(t, "broadcast", "data", "{}") // a participant gets broadcasts
		alice.does(t, "broadcast", "data", "{}")
		require.Contains(t, squeezed(bob.does(t, "inbox", "--attention")), "must_respond direct_request alice bob request")
		require.Equal(t, 1, rows(bob.does(t, "inbox", "--policy", "must_respond")))
		require.Equal(t, 1, rows(bob.does(t, "inbox", "--policy", "must_not_respond")))
		require.Equal(t, 2, rows(bob.does(t, "inbox", "--policy", "must_respond,must_not_respond")))
		require.NotContains(t, bob.does(t, "inbox"), "direct_request")
	})
}

// Each page of an inbox has only what was asked for. A page ends at three megabytes.
func TestTheInboxKeepsToItsPoliciesOnEveryPage(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		bob.does(t, "broadcast", "data", "{}") // a participant gets broadcasts
		const large = 14
		for range large {
			alice.does(t, "ask", "data", "bob", `{"text":"`+strings.Repeat("x", 250_000)+`"}`, "--no-wait", "--expires", "1h")
		}
		alice.does(t, "broadcast", "data", "{}")
		require.Equal(t, large, strings.Count(bob.does(t, "inbox", "--attention"), "must_respond"), "each says what it asks")
		require.Equal(t, large-1, rows(bob.does(t, "inbox", "--limit", strconv.Itoa(large-1))))
		require.Equal(t, large, rows(bob.does(t, "inbox", "--policy", "must_respond", "--mark-read")))
		require.Regexp(t, `^1 unread`, at(t, "", append([]string{"inbox", "--limit", "1"}, bob.connection()...)...).stderr, "what it did not show")
	})
}

// A thread is printed to its end, over all of its pages.
func TestAThreadIsPrintedToItsEnd(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		root := alice.does(t, "broadcast", "data", "{}")
		for range 14 {
			alice.does(t, "notify", "data", "*", `{"of":"`+strings.Repeat("x", 250_000)+`"}`, "--parent", root)
		}
		alice.does(t, "notify", "data", "*", "--text", "The last one", "--parent", root)
		require.Contains(t, alice.does(t, "thread", root), "The last one")
	})
}

func TestADocumentIsReplacedKnowingly(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		first := alice.does(t, "broadcast", "data", "{}", "--kind", "spec", "--document", "--replaces", "")
		second := alice.does(t, "broadcast", "data", "--text", "Rules", "--kind", "spec", "--document", "--replaces", first, "--json")
		require.Contains(t, second, `"document":true`)
		require.Contains(t, bob.refused(t, exitConflict, "broadcast", "data", "{}", "--kind", "spec", "--document", "--replaces", first),
			"[DOCUMENT_CHANGED]")
		require.Contains(t, alice.refused(t, exitUsage, "broadcast", "data", "{}", "--document"), "--document needs --kind")
		require.NotContains(t, alice.does(t, "broadcast", "data", "{}", "--kind", "spec", "--json"), "document")
	})
}

func TestADictatableChannelShowsItsAddress(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		channel := alice.does(t, "channels", "create", "desk", "--dictatable")
		require.Regexp(t, `(?m)^address +[A-Z]+[0-9]{2}$`, alice.does(t, "channels", "show", channel))
		require.NotContains(t, alice.does(t, "channels", "show", "data"), "address")
	})
}
