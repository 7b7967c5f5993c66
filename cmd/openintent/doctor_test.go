package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// examined runs doctor, and returns what each check found.
func (s shell) examined(t *testing.T, exit int, arguments ...string) map[string]finding {
	t.Helper()
	outcome := s.run(t.Context(), append([]string{"doctor", "--json"}, arguments...)...)
	require.Equal(t, exit, outcome.exit, outcome.stdout+outcome.stderr)
	require.Empty(t, outcome.stderr)
	found := make(map[string]finding)
	for line := range strings.Lines(outcome.stdout) {
		var one finding
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		require.Equal(t, one.OK, one.Do == "", "what is wrong comes with what to do: %s", line)
		found[one.Check] = one
	}
	return found
}

func TestADoctorFindsWhyAnAgentIsNotReached(t *testing.T) {
	onlyKeys(t, func(t *testing.T, alice shell) {
		t.Setenv("OPENINTENT_URL", alice.server.BaseURL())
		found := alice.examined(t, exitFailed)
		for _, fine := range []string{"server", "key", "rest", "clock", "agent", "record", "waiting"} {
			require.True(t, found[fine].OK, fine)
		}
		require.False(t, found["reach"].OK)
		require.Contains(t, found["reach"].Do, "openintent wake")

		ctx, end := context.WithCancel(t.Context())
		defer end()
		listening, err := alice.server.As("alice").Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "alice"},
		})
		require.NoError(t, err)
		_, err = listening.Recv()
		require.NoError(t, err)
		found = alice.examined(t, exitOK)
		require.Contains(t, found["reach"].Found, "something of it listens now: stream for")
		require.Contains(t, found["probe"].Found, "nothing that listens takes part")
		outcome := alice.run(t.Context(), "doctor")
		require.Equal(t, exitOK, outcome.exit)
		require.Contains(t, outcome.stdout, "ok     key       the server knows the key\n")

		require.Contains(t, alice.examinedWith(t, "wrong")["key"].Found, "The API key is not known to this server")
		t.Setenv("OPENINTENT_AGENT_ID", "")
		require.Contains(t, alice.examined(t, exitFailed)["agent"].Found, "acts as the operator")
		t.Setenv("OPENINTENT_URL", "http://127.0.0.1:1")
		require.Equal(t, "http://127.0.0.1:1 does not answer", alice.examined(t, exitFailed)["rest"].Found)
		require.NoError(t, alice.server.Stop())
		require.Contains(t, alice.examined(t, exitFailed)["server"].Do, "openintent serve")
	})
}

func (s shell) examinedWith(t *testing.T, key string) map[string]finding {
	t.Helper()
	s.key = key
	return s.examined(t, exitFailed)
}

// A request that must be answered, waits and was handed to nobody is what a doctor is for.
func TestADoctorSaysWhatWaits(t *testing.T) {
	onlyKeys(t, func(t *testing.T, alice shell) {
		t.Setenv("OPENINTENT_URL", alice.server.BaseURL())
		bob := alice.server.As("bob")
		intent, err := bob.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Waiting"})
		require.NoError(t, err)
		made := bob.REST(t, "POST", "/v1/intents/"+intent.GetId()+"/channels", `{"name":"talk"}`)
		var channel struct{ ID string }
		made.Decode(t, &channel)
		sent := bob.REST(t, "POST", "/v1/channels/"+channel.ID+"/messages", `{"to":"alice","message_type":"request","payload":{}}`)
		require.Equal(t, 201, sent.Status)
		found := alice.examined(t, exitFailed)
		require.Contains(t, found["waiting"].Found, "1 that must be answered were handed to nothing of it yet; the oldest is ")
		alice.does(t, "inbox")
		require.Eventually(t, func() bool { return alice.examined(t, exitFailed)["waiting"].OK }, time.Minute, 50*time.Millisecond)

		reader := alice.examinedWith(t, alice.does(t, "keys", "create", "a screen", "--bind", "alice", "--read-only"))["agent"]
		require.Contains(t, reader.Found, "may only read, so it can answer nothing")
		alice.does(t, "agents", "register")
		require.True(t, alice.examined(t, exitFailed)["record"].OK)
		require.Less(t, alice.server.As("alice").REST(t, "DELETE", "/v1/agents/alice", "").Status, 300)
		require.Contains(t, alice.examined(t, exitFailed)["record"].Found, "has deregistered")
	})
}

// Each harness has its own file, and its own idea of variables.
func TestADoctorLooksAtTheEntryOfAHarness(t *testing.T) {
	home, here := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(here)
	look := func(harness string) finding {
		e := &examination{url: "http://127.0.0.1:8000"}
		e.harness(harness)
		require.Len(t, e.found, 1)
		return e.found[0]
	}
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.Contains(t, look("emacs").Found, "is none whose settings")
	require.Contains(t, look("codex").Found, "has no entry")
	write(filepath.Join(home, ".codex/config.toml"), "[mcp_servers.other]\nurl = \"http://127.0.0.1:9/sse\"\n")
	require.Contains(t, look("codex").Found, "has no entry")
	write(filepath.Join(home, ".codex/config.toml"), "[mcp_servers.openintent]\nurl = \"http://127.0.0.1:8000/mcp\"\nhttp_headers = { \"X-API-Key\" = \"${KEY}\" }\n")
	require.Contains(t, look("codex").Found, "has a variable in place of the key")
	write(filepath.Join(home, ".codex/config.toml"), "[mcp_servers.openintent]\nurl = \"http://127.0.0.1:8000/mcp\"\nbearer_token_env_var = \"OPENINTENT_API_KEY\"\n")
	require.True(t, look("codex").OK)
	write(filepath.Join(here, ".mcp.json"), `{"mcpServers":{"openintent":{"type":"http","url":"http://elsewhere:8000/mcp","headers":{"X-API-Key":"${KEY}"}}}}`)
	require.Contains(t, look("claude").Found, "leads to http://elsewhere:8000/mcp, and the server is at http://127.0.0.1:8000")
	write(filepath.Join(here, ".mcp.json"), `{"mcpServers":{"openintent":{"command":"openintent","args":["mcp"],"env":{"OPENINTENT_API_KEY":"${KEY}"}}}}`)
	require.True(t, look("claude").OK, "it replaces variables")
}
