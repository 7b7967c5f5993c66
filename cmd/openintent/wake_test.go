package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

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

// wake finds at its start what came before it.
func TestWakeBeginsWithWhatWaits(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		asked := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waking := bob.begin(ctx, "wake", "--exec", "cat")
		require.Contains(t, waking.line(t), strings.Split(asked, "/")[1])
		cancel()
		require.Equal(t, exitOK, waking.end(t).exit)
	})
}

// A command that does not exist is refused before anything waits, however it is given.
func TestWakeLooksForItsCommand(t *testing.T) {
	onSQLite(t, func(t *testing.T, _, bob shell) {
		for _, given := range [][]string{
			{"--", "/nonexistent/program"}, {"--", "no-such-program"}, {"--exec", "no-such-program --now 'x'"}, {"--exec", " "},
		} {
			did := at(t, "", append(append([]string{"wake"}, bob.connection()...), given...)...)
			require.Equal(t, exitUsage, did.exit, given)
			require.Contains(t, did.stderr, "give the", given)
			require.NotContains(t, did.stderr, "waiting for messages")
		}
		for _, line := range []string{"cat", "printf x", "cd /; true", `"$HOME/x" || true`, "A=b cat"} {
			require.NoError(t, (&wakeCommand{Exec: line, Command: []string{"sh", "-c", line}}).find(), line)
		}
	})
}

// standIn plays the inbox of a Claude Code session, and returns the lines of each connection.
func standIn(t *testing.T) (connections chan []map[string]any) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	connections = make(chan []map[string]any, 10)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			var lines []map[string]any
			for decoder := json.NewDecoder(connection); ; {
				var line map[string]any
				if decoder.Decode(&line) != nil {
					break
				}
				lines = append(lines, line)
			}
			connections <- lines
		}
	}()
	t.Setenv(claudeSocket, socket)
	t.Setenv(claudeToken, "the-token")
	return connections
}

// In a session of Claude Code, wake posts to the session's own inbox: a pointer, and nothing that another agent wrote.
func TestWakePostsToTheInboxOfItsSession(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		connections := standIn(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waking := bob.begin(ctx, "wake")
		asked := alice.does(t, "ask", "data", "bob", "--text", "SECRET", "--no-wait", "--expires", "1h")
		channel, message, _ := strings.Cut(asked, "/")
		lines := <-connections
		require.Len(t, lines, 2)
		require.Equal(t, map[string]any{"type": "auth", "token": "the-token"}, lines[0])
		require.Equal(t, "user", lines[1]["type"])
		said, isObject := lines[1]["message"].(map[string]any)
		require.True(t, isObject)
		require.Equal(t, "user", said["role"])
		for _, part := range []string{message, channel, "must_respond", "1 waiting"} {
			require.Contains(t, said["content"], part)
		}
		require.NotContains(t, said["content"], "SECRET")
		cancel()
		ended := waking.end(t)
		require.Equal(t, exitOK, ended.exit)
		require.NotContains(t, ended.stderr, "the-token")
	})
}

// From outside a session, nothing is posted anywhere. A session that is over ends wake.
func TestWakePostsOnlyFromWithinASession(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		require.Contains(t, bob.refused(t, exitUsage, "wake", "--via", "socket"), claudeSocket)
		require.Contains(t, bob.refused(t, exitUsage, "wake", "--via", "exec"), "--exec COMMAND")
		t.Setenv(claudeSocket, filepath.Join(t.TempDir(), "gone"))
		require.Contains(t, bob.refused(t, exitUsage, "wake", "--via", "socket"), claudeToken, "one of the two is not enough")
		t.Setenv(claudeToken, "t")
		require.Contains(t, bob.refused(t, exitUsage, "wake", "--via", "socket", "--exec", "true"), "leave the command out")
		alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--expires", "1h")
		ended := bob.run(t.Context(), "wake")
		require.Equal(t, exitFailed, ended.exit)
		require.Contains(t, ended.stderr, "the session may be over")
	})
}

// marked is a connection that hears the calls made on it, and answers none.
type marked struct{ heard chan []string }

func (m marked) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	m.hear(ctx)
	return errors.New("nobody is there")
}

func (m marked) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m.hear(ctx)
	return nil, errors.New("nobody is there")
}

func (m marked) hear(ctx context.Context) {
	sent, _ := metadata.FromOutgoingContext(ctx)
	select {
	case m.heard <- sent.Get("X-OpenIntent-Wake"):
	case <-ctx.Done():
	}
}

// Every call says that it is that of a wake, and wake calls again and again, whether or not the server answers.
func TestWakeBeats(t *testing.T) {
	calls := marked{make(chan []string)}
	inbox := &waitingInbox{connection: wakes{calls}}
	beating, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inbox.beat(beating, time.Millisecond)
	}()
	for range 3 {
		require.Equal(t, []string{"1"}, <-calls.heard)
	}
	stop()
	<-ended
	go func() { _, _ = inbox.lookAndFollow(t.Context()) }()
	require.Equal(t, []string{"1"}, <-calls.heard)
	require.Equal(t, 10*time.Second, beatEvery)
}
