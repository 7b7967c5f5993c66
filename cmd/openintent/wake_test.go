package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The command gets the ids of what waits, and nothing that another agent wrote.
func TestWakeRunsACommandForWhatWaits(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		done := filepath.Join(t.TempDir(), "done")
		require.NoError(t, syscall.Mkfifo(done, 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waking := bob.begin(ctx, "wake", "--exec",
			`cat; printenv OPENINTENT_MESSAGE OPENINTENT_CHANNEL OPENINTENT_INTENT OPENINTENT_POLICY OPENINTENT_REASON `+
				`OPENINTENT_WAITING OPENINTENT_AGENT_ID; read -r _ < `+done)
		alice.does(t, "broadcast", "data", "--text", "for everybody") // asks for no answer
		asked := alice.does(t, "ask", "data", "bob", "--text", "SECRET", "--no-wait", "--expires", "1h")
		channel, message, _ := strings.Cut(asked, "/")
		next := func() (p pointer) {
			require.NoError(t, json.Unmarshal([]byte(waking.line(t)), &p))
			for _, value := range []string{p.Message, p.Channel, p.Intent, p.Policy, p.Reason, "1", "bob"} {
				require.Equal(t, value, waking.line(t))
			}
			return p
		}
		first := next()
		require.Equal(t, pointer{
			Message: message, Channel: channel, Intent: os.Getenv("OPENINTENT_INTENT_ID"), Policy: "must_respond",
			Reason: "direct_request", Waiting: 1,
		}, first)
		require.NotContains(t, first.json(), "SECRET")

		bob.does(t, "reply", asked, "{}")
		require.NoError(t, os.WriteFile(done, []byte("\n"), 0o600))
		asked = alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		require.Contains(t, asked, next().Message, "the first was taken up, so there is no pause")
		cancel()
		ended := waking.end(t)
		require.Equal(t, exitOK, ended.exit, "Ctrl-C is the way to end it")
		for _, said := range []string{"waiting for messages to answer", "running the command", "the command has ended", "stopped"} {
			require.Contains(t, ended.stderr, said)
		}
	})
}

func TestWakeOnce(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		require.Contains(t, bob.refused(t, exitTimeout, "wake", "--once"), "nothing waits for bob")
		require.Contains(t, bob.refused(t, exitTimeout, "wake", "--once", "--wait", "10ms"), "nothing waits for bob")
		require.Equal(t, outcome{}, bob.run(t.Context(), "wake", "--once", "--exit-code", "2"), "then 0 says that nothing waits")
		waiting := bob.begin(t.Context(), "wake", "--once", "--wait", "1m", "--exit-code", "2")
		asked := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		found := waiting.end(t)
		require.Equal(t, 2, found.exit)
		require.Empty(t, found.stderr)
		var p pointer
		require.NoError(t, json.Unmarshal([]byte(found.stdout), &p))
		require.Equal(t, asked, p.Channel+"/"+p.Message)
		require.Equal(t, found.stdout, bob.does(t, "wake", "--once")+"\n", "it waits until it is taken up")

		bob.does(t, "inbox", "--mark-read")
		bob.refused(t, exitTimeout, "wake", "--once")
		asked = alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		require.Contains(t, bob.does(t, "wake", "--once"), `"waiting":1}`)
		bob.does(t, "claim", asked)
		bob.refused(t, exitTimeout, "wake", "--once")
	})
}

// A restart of the server ends nothing.
func TestWakeOutlivesTheServer(t *testing.T) {
	clearEnvironment(t)
	h := harness.Start(t, harness.Options{})
	withData(t, h, func(t *testing.T, alice, _ shell) {
		line := h.Line(t)
		bob := shell{server: h, agent: "bob", through: line.GRPCAddress()}
		waking := bob.begin(t.Context(), "wake", "--once", "--wait", "5m")
		require.NoError(t, h.Stop())
		h.Start(t)
		asked := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		_, message, _ := strings.Cut(asked, "/")
		require.Contains(t, waking.end(t).stdout, message)
	})
}

func TestWakeRefusesWhatItDoesNotUnderstand(t *testing.T) {
	onSQLite(t, func(t *testing.T, _, bob shell) {
		for said, arguments := range map[string][]string{
			"expected: openintent wake --exec COMMAND": {"wake"},
			"--once runs no command":                   {"wake", "--once", "--exec", "true"},
			"go with --once":                           {"wake", "--exec", "true", "--wait", "1s"},
			"must be from 0 to 125":                    {"wake", "--once", "--exit-code", "256"},
		} {
			require.Contains(t, bob.refused(t, exitUsage, arguments...), said)
		}
		operator := shell{server: bob.server}
		require.Contains(t, operator.refused(t, exitUsage, "wake", "--once"), "name the agent to act as")
		require.Contains(t, shell{server: bob.server, key: "wrong", agent: "bob"}.refused(t, exitRefused, "wake", "--once"), "API_KEY_UNKNOWN")
	})
}

// wake finds at its start what came before it. It ends if its command cannot be run.
func TestWakeBeginsWithWhatWaits(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		did := at(t, "", append(append([]string{"wake"}, bob.connection()...), "--", "/nonexistent/program")...)
		require.Equal(t, exitFailed, did.exit)
		require.Contains(t, did.stderr, "/nonexistent/program")
		require.Contains(t, did.stderr, "running the command")
	})
}
