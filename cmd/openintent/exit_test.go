package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// nobodyThere is an address that refuses connections.
const nobodyThere = "127.0.0.1:1"

func TestExitCodesOfRefusals(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		alice.does(t, "channels", "create", "closed")
		alice.does(t, "channels", "close", "closed")
		alice.does(t, "channels", "create", "private", "-m", "alice")
		channel := idForm.FindString(alice.does(t, "channels"))
		t.Setenv("OPENINTENT_SERVER", alice.server.GRPCAddress())
		t.Setenv("OPENINTENT_API_KEY", harness.Key)
		t.Setenv("OPENINTENT_AGENT_ID", "alice")
		for _, test := range []struct {
			exit      int
			says      string
			arguments []string
		}{
			{exitUsage, "[INVALID_FIELD]", []string{"channels", "create", "a/b"}},
			{exitUsage, "give the payload once", []string{"notify", "data", "bob"}},
			{exitUsage, "unknown flag", []string{"notify", "data", "bob", "--colour"}},
			{exitUsage, "expected: openintent ask", []string{"ask", "data"}},
			{exitUsage, "--min-responses goes with --all", []string{"ask", "data", "bob", "{}", "--min-responses", "2"}},
			{exitUsage, "--no-wait", []string{"ask", "data", "bob", "{}", "--no-wait", "--all"}},
			{exitUsage, "--expires", []string{"ask", "data", "bob", "{}", "--expires", "1m"}},
			{exitUsage, "no channel, payload", []string{"ask", "data", "bob", "{}", "--resume", "msg_1"}},
			{exitUsage, "--resume takes CHANNEL/MESSAGE", []string{"ask", "--resume", "msg_01M7YCHKJSE27KAQBVEVPX64D7"}},
			{exitUsage, "names no message", []string{"reply", "data/x", "{}"}},
			{exitUsage, "is not a channel's id; use --intent", []string{"reply", "data/msg_1", "{}", "--intent", ""}},
			{exitNotFound, `no channel "none" [CHANNEL_NOT_FOUND]`, []string{"reply", "none/msg_1", "{}"}},
			{exitUsage, `"hello" is no JSON object; to send it as text, write --text "hello"`, []string{"notify", "data", "bob", "hello"}},
			{exitUsage, `unexpected argument there; to send several words as text, write --text "..."`, []string{"notify", "data", "bob", "hello", "there"}},
			{exitUsage, "--json and --ids", []string{"messages", "data", "--ids", "--json"}},
			{exitUsage, "--max-messages: must be", []string{"channels", "create", "few", "--max-messages=-5"}},
			{exitUsage, "--to does not go with --follow", []string{"messages", "data", "--follow", "--to", "bob"}},
			{exitUsage, "is not a channel's id", []string{"messages", "data", "--intent", ""}},
			{exitUsage, "above zero", []string{"ask", "data", "bob", "{}", "--timeout", "0s"}},
			{exitTimeout, "[MESSAGE_TIMEOUT]", []string{"ask", "data", "bob", "{}", "--timeout", "10ms"}},
			{exitTimeout, "nobody answered", []string{"ask", "data", "role:none", "{}", "--wait", "10ms", "--all"}},
			{exitNotFound, `no channel "none" [CHANNEL_NOT_FOUND]`, []string{"messages", "none"}},
			{exitNotFound, "[CHANNEL_NOT_FOUND]", []string{"channels", "show", "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS"}},
			{exitNotFound, "[INTENT_NOT_FOUND]", []string{"intents", "show", "908dffff-d872-4f18-8eb7-7b918ea4c9b5"}},
			{exitNotFound, "waits in the agent's inbox", []string{"reply", "msg_01M7YCHKJSE27KAQBVEVPX64D7", "{}"}},
			{exitRefused, "[TARGET_NOT_A_MEMBER]", []string{"notify", "private", "bob", "{}"}},
			{exitRefused, "[API_KEY_UNKNOWN]", []string{"intents", "--api-key", "other"}},
			{exitUnavailable, "The server at " + nobodyThere + " could not be reached within 100ms", []string{"intents", "--server", nobodyThere}},
			{exitUnavailable, "could not be reached", []string{"intents", "create", "x", "--server", nobodyThere}},
			{exitUnavailable, "could not be reached", []string{"channels", "create", "x", "--server", nobodyThere}},
			{exitUnavailable, "could not be reached", []string{"notify", "x", "bob", "{}", "--create", "--server", nobodyThere}},
			{exitUnavailable, "could not be reached", []string{"ask", "data", "bob", "{}", "--timeout", "1m", "--server", nobodyThere}},
			{exitUnavailable, "could not be reached", []string{"ask", channel, "bob", "{}", "--server", nobodyThere}},
			{exitUnavailable, "does not speak gRPC", []string{"intents", "--server", strings.TrimPrefix(alice.server.BaseURL(), "http://")}},
			{exitUnavailable, "[TLS_FAILED]", []string{"intents", "--tls"}},
			{exitConflict, "[CHANNEL_CLOSED]", []string{"notify", "closed", "bob", "{}"}},
			{exitConflict, "[CHANNEL_NAME_TAKEN]", []string{"channels", "create", "data"}},
		} {
			// A server that answers is given time, because a busy machine is not a failure.
			t.Setenv("OPENINTENT_PATIENCE", harness.Patience.String())
			did := outcome{}
			if slices.Contains(test.arguments, nobodyThere) {
				// In a bubble no time passes while a connection is attempted.
				t.Setenv("OPENINTENT_PATIENCE", "100ms")
				synctest.Test(t, func(t *testing.T) { did = at(t, "", test.arguments...) })
			} else {
				did = at(t, "", test.arguments...)
			}
			require.Equal(t, test.exit, did.exit, "%s: %s", test.arguments, did.stderr)
			require.Contains(t, did.stderr, test.says, test.arguments)
			require.Empty(t, did.stdout)
		}
		require.Contains(t, bob.refused(t, exitRefused, "notify", "private", "alice", "{}"), "[NOT_A_MEMBER]")
		t.Setenv("OPENINTENT_AGENT_ID", "")
		operator := shell{server: alice.server}
		require.Contains(t, operator.refused(t, exitUsage, "inbox"), "name the owner of the inbox")
	})
}

func TestAnInterruptedAskSaysSo(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		ctx, cancel := context.WithCancel(t.Context())
		asking := alice.begin(ctx, "ask", "data", "bob", "{}")
		bob.does(t, "inbox", "--wait", "1m")
		cancel()
		require.Equal(t, outcome{exit: exitInterrupted, stderr: "openintent: interrupted\n"}, asking.end(t))
	})
}

// brokenLog serves an event log that somebody has tampered with.
type brokenLog struct {
	openintentv1.UnimplementedEventServiceServer
}

func (brokenLog) VerifyEvents(
	_ context.Context, request *openintentv1.VerifyEventsRequest,
) (*openintentv1.VerifyEventsResponse, error) {
	return &openintentv1.VerifyEventsResponse{
		IntentId: request.GetIntentId(), EventCount: 3, Breaks: []*openintentv1.ChainBreak{{Sequence: 2, Reason: "hash\x1b[1m"}},
	}, nil
}

func TestABrokenLogIsAnExitCode(t *testing.T) {
	clearEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	openintentv1.RegisterEventServiceServer(server, brokenLog{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	verify := []string{"events", "verify", "--server", listener.Addr().String(), "--intent", "i"}
	require.Equal(t, outcome{
		exitBroken, "SEQUENCE  BREAK\n2         hash\\u001b[1m\n", "openintent: the event log of i does not verify\n",
	}, at(t, "", verify...))
	did := at(t, "", append(verify, "--json")...)
	require.Equal(t, exitBroken, did.exit)
	require.Contains(t, did.stdout, `"breaks":[{"sequence":2,"reason":"hash\u001b[1m"}]`)
}

// A payload can neither move the cursor nor pass for another row.
func TestHostileTextsStayOnTheirLine(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		const hostile = "\x1b[2K\rTIME root * broadcast\n\u202e\u009b1A"
		mallory := shell{server: alice.server, agent: "mallory"}
		mallory.does(t, "notify", "data", "bob", "--text", hostile)
		mallory.does(t, "channels", "create", "in\u202evisible")
		for _, arguments := range [][]string{{"messages", "data"}, {"inbox"}, {"channels"}, {"messages", "data", "--json"}, {"inbox", "--json"}} {
			printed := bob.does(t, arguments...)
			require.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{202e}]`, printed)
		}
		require.Equal(t, 1, rows(bob.does(t, "messages", "data")))
	})
}
