package releasebot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// Name is what the agent is called.
const Name = "release-bot"

// root is the repository, and program the agent.
var root, program = places()

func places() (root, program string) {
	_, here, _, _ := runtime.Caller(0)
	folder := filepath.Dir(here)
	return filepath.Join(folder, "../.."), filepath.Join(folder, "release_bot.py")
}

// Python returns the path of a Python with what the SDK needs.
func Python(t *testing.T) string {
	t.Helper()
	return harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
}

// Bot is the running agent.
type Bot struct {
	said     *bufio.Scanner
	failures *bytes.Buffer
}

// Start starts the agent on a channel of an intent, against the gRPC port of a server, until the test ends. Then it must leave without
// complaint.
func Start(t *testing.T, python, server, intent, channel string) *Bot {
	t.Helper()
	running := exec.Command(python, program, intent, channel)
	running.Env = append(os.Environ(),
		"OPENINTENT_SERVER="+server, "OPENINTENT_API_KEY="+harness.Key, "PYTHONPATH="+filepath.Join(root, "sdk/python/src"))
	bot := &Bot{failures: &bytes.Buffer{}}
	running.Stderr = bot.failures
	leave, err := running.StdinPipe()
	require.NoError(t, err)
	output, err := running.StdoutPipe()
	require.NoError(t, err)
	bot.said = bufio.NewScanner(output)
	require.NoError(t, running.Start())
	t.Cleanup(func() {
		_ = leave.Close()
		if t.Failed() {
			_ = running.Process.Kill() // it would wait for its answer
		}
		_, _ = io.Copy(io.Discard, output)
		if err := running.Wait(); err != nil && !t.Failed() {
			t.Errorf("the agent in Python failed: %v\n%s", err, bot.failures)
		}
	})
	return bot
}

// Says returns the next line that the agent prints.
func (b *Bot) Says(t *testing.T) (said map[string]any) {
	t.Helper()
	require.True(t, b.said.Scan(), "%s", b.failures)
	require.NoError(t, json.Unmarshal(b.said.Bytes(), &said))
	return said
}
