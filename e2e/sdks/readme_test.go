package sdks_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/e2e/sdks"
	"openintent/internal/database"
)

// The first program in the Go SDK's README runs unchanged and prints what the README says.
func TestTheFirstAskInGo(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "sdk/go/README.md"))
	require.NoError(t, err)
	program := regexp.MustCompile("(?s)```go\n(package main.*?)```").FindSubmatch(text)
	said := regexp.MustCompile("It prints `([^`]+)`").FindSubmatch(text)
	require.NotNil(t, program)
	require.NotNil(t, said)

	// The file stands within the module, where the import is found, in a folder that ./... leaves out.
	folder, err := os.MkdirTemp(".", "_first-ask-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	file := filepath.Join(folder, "main.go")
	require.NoError(t, os.WriteFile(file, program[1], 0o600))

	run := harness.Command(".", "go", "run", file)
	run.Env = append(os.Environ(), sdks.StartStage(t, database.SQLite).Environment()...)
	var log bytes.Buffer
	run.Stderr = &log
	output, err := run.Output()
	require.NoError(t, err, "%s", log.String())
	require.Equal(t, string(said[1])+"\n", string(output))
	require.Regexp(t, `(?s)agent data-agent is connected to \S+ and receives.*agent data-agent has left`, log.String())
}
