package sdks_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// TestTheNewUsersHour does what a new user does: starts the program without keys, runs an agent in each language, asks
// from the shell, and makes the usual mistakes. At the end, each agent must have said what happened to it.
func TestTheNewUsersHour(t *testing.T) {
	agents := deskAgents(t)
	t.Parallel()
	for _, engine := range databasetest.EnginesOf(t) {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel() // it spends most of its time waiting
			u := newUser(t, databasetest.URL(t, engine))
			u.looksAround(t)
			u.startsServer(t)
			for _, agent := range agents {
				u.agents[agent[0]] = u.starts(t, agent[1:]...)
			}
			u.asks(t)
			u.mistakesAName(t)
			u.meetsAFailure(t)
			u.restartsServer(t)
			u.handsOutKeys(t)
			u.applies(t)
			for id, agent := range u.agents {
				agent.leave(t)
				require.Empty(t, u.unsaid(id, agent.voice.String()), "%s said:\n%s", id, agent.voice.String())
			}
		})
	}
}

// The hour's own check must find a mute agent.
func TestAMuteAgentIsFound(t *testing.T) {
	u := newUser(t, databasetest.URL(t, database.SQLite))
	u.startsServer(t)
	u.agents["go-agent"] = u.starts(t, goDesk(t), "mute")
	u.asks(t)
	u.mistakesAName(t)
	u.meetsAFailure(t)
	agent := u.agents["go-agent"]
	agent.leave(t)
	require.Len(t, u.unsaid("go-agent", agent.voice.String()), len(u.sentences("go-agent")))
}

// deskAgents are the agents' names, each with its command line.
func deskAgents(t *testing.T) [][]string {
	t.Helper()
	python := harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	entry, err := filepath.Abs(filepath.Join(builtTypeScript(t), "dist/index.js"))
	require.NoError(t, err)
	return [][]string{
		{"go-agent", goDesk(t)},
		{"python-agent", python, "hour/desk.py"},
		{"typescript-agent", "node", "hour/desk.mjs", entry},
	}
}

// goDesk builds the agent in Go.
func goDesk(t *testing.T) string {
	t.Helper()
	desk := filepath.Join(t.TempDir(), "desk")
	output, err := harness.Command(".", "go", "build", "-o", desk, "openintent/e2e/sdks/hour/desk").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return desk
}

// user is a new user at a terminal.
type user struct {
	rest, grpc  string
	environment []string
	server      *program
	agents      map[string]*program
	version     string
	intent      string
}

func newUser(t *testing.T, databaseURL string) *user {
	t.Helper()
	u := &user{rest: unusedAddress(t), grpc: unusedAddress(t), agents: make(map[string]*program)}
	packages, err := filepath.Abs(filepath.Join(root, "sdk/python/src"))
	require.NoError(t, err)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "OPENINTENT_") {
			u.environment = append(u.environment, variable)
		}
	}
	u.environment = append(u.environment, "OPENINTENT_DATABASE_URL="+databaseURL, "OPENINTENT_HTTP_ADDR="+u.rest,
		"OPENINTENT_GRPC_ADDR="+u.grpc, "OPENINTENT_SERVER="+u.grpc, "XDG_CONFIG_HOME="+t.TempDir(), "PYTHONPATH="+packages)
	return u
}

// unusedAddress returns an address on which a server can be started repeatedly.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// program is a program that runs, and voice is what it has printed.
type program struct {
	command *exec.Cmd
	voice   *voice
	ended   chan error
}

// voice collects what a program prints.
type voice struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (v *voice) Write(text []byte) (int, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.text.Write(text)
}

func (v *voice) String() string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.text.String()
}

func (u *user) starts(t *testing.T, line ...string) *program {
	t.Helper()
	p := &program{command: exec.Command(line[0], line[1:]...), voice: &voice{}, ended: make(chan error, 1)}
	p.command.Env, p.command.Stdout, p.command.Stderr = u.environment, p.voice, p.voice
	require.NoError(t, p.command.Start())
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	return p
}

// says waits until the program has said something.
func (p *program) says(t *testing.T, pattern string) {
	t.Helper()
	said := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool { return said.MatchString(p.voice.String()) }, harness.Patience, 10*time.Millisecond,
		"it does not say %q", pattern)
}

// leave ends the program as Ctrl-C in a service manager does.
func (p *program) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-p.ended:
		require.NoError(t, err, "it said:\n%s", p.voice)
	case <-time.After(harness.Patience):
		require.FailNow(t, "it does not leave", "%s", p.voice)
	}
}

// types runs a command of the program to its end, which must have this exit code.
func (u *user) types(t *testing.T, exit int, line ...string) (stdout, stderr string) {
	t.Helper()
	command := exec.Command(harness.Executable(t), line...)
	var out, trouble bytes.Buffer
	command.Env, command.Stdout, command.Stderr = u.environment, &out, &trouble
	_ = command.Run()
	require.Equal(t, exit, command.ProcessState.ExitCode(), "%s: %s%s", line, out.String(), trouble.String())
	return strings.TrimSpace(out.String()), trouble.String()
}

func (u *user) looksAround(t *testing.T) {
	t.Helper()
	help, _ := u.types(t, 0, "--help")
	for _, verb := range []string{"serve", "ask", "keys", "apply"} {
		require.Contains(t, help, "\n  "+verb)
	}
	said, _ := u.types(t, 0, "--version")
	found := regexp.MustCompile(`^openintent (\S+) \(commit .+, date .+\)$`).FindStringSubmatch(said)
	require.NotNil(t, found, said)
	u.version = found[1]
	_, waiting := u.types(t, 6, "intents", "--patience", "5s")
	require.Contains(t, waiting, "openintent: cannot reach the server at "+u.grpc+" and keeps trying")
	require.Equal(t, 2, strings.Count(waiting, "\n"), waiting)
}

func (u *user) startsServer(t *testing.T) {
	t.Helper()
	u.server = u.starts(t, harness.Executable(t), "serve")
	u.server.says(t, `"msg":"listening".*"version":"`+u.version)
	answer, err := http.Get("http://" + u.rest + "/.well-known/openintent-compat.json")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `"version":"`+u.version)
	if u.intent == "" {
		u.intent, _ = u.types(t, 0, "intents", "create", "The first hour", "--status", "active", "--agent", "me")
		u.environment = append(u.environment, "OPENINTENT_INTENT_ID="+u.intent)
		u.types(t, 0, "channels", "create", "desk", "--agent", "me")
	}
}

// asks asks every agent, and waits for all answers.
func (u *user) asks(t *testing.T) {
	t.Helper()
	for id := range u.agents {
		answer, _ := u.types(t, 0, "ask", "desk", id, `{"question": "which schema?"}`, "--timeout", "60s", "--agent", "me")
		require.JSONEq(t, `{"answer": "v2.3"}`, answer)
	}
}

// mistakesAName asks on a channel that no agent has a handler for.
func (u *user) mistakesAName(t *testing.T) {
	t.Helper()
	u.types(t, 0, "channels", "create", "dekc", "--agent", "me")
	for id := range u.agents {
		_, why := u.types(t, 3, "ask", "dekc", id, "{}", "--timeout", "1s", "--agent", "me")
		require.Contains(t, why, id+` did not answer on channel "dekc" within 1 s: `)
		require.Contains(t, why, "MESSAGE_TIMEOUT")
	}
}

func (u *user) meetsAFailure(t *testing.T) {
	t.Helper()
	for id := range u.agents {
		_, why := u.types(t, 7, "ask", "desk", id, `{"fail": true}`, "--agent", "me")
		require.Contains(t, why, "the desk is on fire")
	}
}

// restartsServer stops the server until every agent has noticed that, and starts it again.
func (u *user) restartsServer(t *testing.T) {
	t.Helper()
	u.server.leave(t)
	for id, agent := range u.agents {
		agent.says(t, "agent "+id+" cannot reach the server at "+u.grpc)
	}
	u.startsServer(t)
	u.asks(t)
}

func (u *user) handsOutKeys(t *testing.T) {
	t.Helper()
	secret, _ := u.types(t, 0, "keys", "create", "for a friend", "--bind", "friend")
	require.Regexp(t, "^oi_", secret)
	u.types(t, 0, "intents", "--api-key", secret)
	u.types(t, 5, "intents", "--api-key", secret, "--agent", "me")
	list, _ := u.types(t, 0, "keys", "list", "--json")
	id := regexp.MustCompile(`key_\w+`).FindString(list)
	renewed, _ := u.types(t, 0, "keys", "rotate", id)
	u.types(t, 0, "intents", "--api-key", renewed)
	u.types(t, 0, "keys", "revoke", id)
	for _, gone := range []string{secret, renewed} {
		_, why := u.types(t, 5, "intents", "--api-key", gone)
		require.Contains(t, why, "API_KEY_UNKNOWN")
	}
}

func (u *user) applies(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workflow.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: '1.0'\nintent: {title: T}\nchanels: {data: {}}\n"), 0o600))
	_, warned := u.types(t, 0, "apply", path, "--agent", "me")
	require.Contains(t, warned, `did you mean "channels"?`)
}

// sentences are what an agent must say in this hour, as patterns.
func (u *user) sentences(id string) []string {
	agent, at := "agent "+id, regexp.QuoteMeta(u.grpc)
	return []string{
		agent + " is connected to " + at + " and receives",
		agent + ` has no handler for channel \\?"dekc\\?"; it has handlers for \\?"desk\\?"`,
		agent + `: the handler for channel \\?"desk\\?" failed on message msg_\w+: .*the desk is on fire`,
		agent + " cannot reach the server at " + at + " and keeps trying: ",
		agent + " is connected to " + at + " again and receives",
		agent + " has left",
	}
}

// unsaid returns what an agent should have said and did not.
func (u *user) unsaid(id, said string) (missing []string) {
	for _, sentence := range u.sentences(id) {
		if !regexp.MustCompile(sentence).MatchString(said) {
			missing = append(missing, sentence)
		}
	}
	return missing
}
