package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// Both commands refuse with one sentence, and leave files alone.
func TestAgentDataRefuses(t *testing.T) {
	clearEnvironment(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		dora := shell{server: h, agent: "dora"}
		dora.does(t, "agents", "register", "dora")
		folder := t.TempDir()
		taken, fresh := filepath.Join(folder, "taken"), filepath.Join(folder, "fresh")
		require.NoError(t, os.WriteFile(taken, []byte("mine"), 0o600))
		registered, exit := "deregister it first", exitConflict
		if strings.HasPrefix(h.DatabaseURL, "sqlite:") {
			registered, exit = "another process has", exitFailed
		}
		missing := "sqlite:" + filepath.Join(folder, "none.db")
		for _, test := range []struct {
			arguments []string
			exit      int
			says      string
		}{
			{[]string{"export", "nobody", fresh, "--database-url", h.DatabaseURL}, exitNotFound, "does not know this agent"},
			{[]string{"export", "dora", taken, "--database-url", h.DatabaseURL}, exitFailed, "never overwrites"},
			{[]string{"export", "dora", filepath.Join(folder, "no", "file"), "--database-url", h.DatabaseURL}, exitFailed, "must exist"},
			{[]string{"export", "system", "--database-url", h.DatabaseURL}, exitUsage, "reserved"},
			{[]string{"export", "dora", fresh, "--database-url", missing}, exitFailed, "does not exist; name the database"},
			{[]string{"erase", "dora", "--database-url", missing}, exitFailed, "does not exist; name the database"},
			{[]string{"erase", "dora", "--database-url", h.DatabaseURL}, exit, registered},
			{[]string{"erase"}, exitUsage, "<agent>"},
		} {
			did := offline(t, append([]string{"agent-data"}, test.arguments...)...)
			require.Equal(t, test.exit, did.exit, "%s: %s", test.arguments, did.stderr)
			require.Contains(t, did.stderr, test.says)
			require.Equal(t, 1, strings.Count(did.stderr, "\n"), "one line: %q", did.stderr)
			require.Empty(t, did.stdout)
		}
		require.NoFileExists(t, fresh)
		require.NoFileExists(t, strings.TrimPrefix(missing, "sqlite:"))
		content, err := os.ReadFile(taken)
		require.NoError(t, err)
		require.Equal(t, "mine", string(content))

		require.NoError(t, h.Stop(), "it has written then when it last heard of the agent, which is the second row")
		did := offline(t, "agent-data", "export", "dora", fresh, "--database-url", h.DatabaseURL)
		require.Equal(t, exitOK, did.exit, did.stderr)
		require.Equal(t, "exported 2 rows of dora into "+fresh+"\n", did.stdout)
		made, err := os.Stat(fresh)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), made.Mode(), "it is for its owner alone")
	})
}

// An agent that nobody knows is refused, and so is a name that is no agent's.
func TestAgentDataErasesNobody(t *testing.T) {
	clearEnvironment(t)
	h := harness.Start(t, harness.Options{})
	require.NoError(t, h.Stop())
	for agent, exit := range map[string]int{"nobody": exitNotFound, "system": exitUsage, "operator": exitUsage} {
		did := offline(t, "agent-data", "erase", agent, "--database-url", h.DatabaseURL)
		require.Equal(t, exit, did.exit, "%s: %s", agent, did.stderr)
	}
}

// The erasure works beside a server of PostgreSQL, and prints what it did. On SQLite the server has stopped.
func TestAgentDataErases(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		dora := shell{server: alice.server, agent: "dora"}
		dora.does(t, "agents", "register", "dora", "--name", "Dora")
		dora.does(t, "notify", "data", "alice", `{"text": "gone soon"}`)
		answer := alice.server.As("dora").REST(t, "DELETE", "/v1/agents/dora", "")
		require.Less(t, answer.Status, 300)
		live := !strings.HasPrefix(alice.server.DatabaseURL, "sqlite:")
		if !live {
			require.NoError(t, alice.server.Stop())
		}
		did := offline(t, "agent-data", "erase", "dora", "--database-url", alice.server.DatabaseURL)
		require.Equal(t, exitOK, did.exit, did.stderr)
		require.Empty(t, did.stderr)
		require.Contains(t, did.stdout, "erased  agents: name, capabilities, endpoint, metadata and note of its record, and the senders that it refuses (rows: 1)\n")
		require.Contains(t, did.stdout, "erased  messages: the contents of those that it sent (rows: 1)\n")
		require.True(t, strings.HasSuffix(did.stdout, "stays   whatever backups, exports and logs of the server have\n"), did.stdout)
		if live {
			require.NotContains(t, alice.does(t, "messages", "data"), "gone soon")
		}
	})
}
