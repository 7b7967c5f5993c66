package backups

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// commands returns the commands that docs/backups.md shows under a name.
func commands(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/backups.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "<!-- not run: e2e/backups runs this as \""+name+"\" -->\n```sh\n")
	require.True(t, found, "the page has commands for: %s", name)
	block, _, found := strings.Cut(after, "```\n")
	require.True(t, found)
	return block
}

// follow runs commands of the page, with the program in the path, and returns what they print.
func follow(t *testing.T, name string, environment ...string) (output string, err error) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Symlink(harness.Executable(t), filepath.Join(folder, "openintent")))
	command := exec.CommandContext(t.Context(), "bash", "-euc", commands(t, name))
	command.Env = append(os.Environ(), environment...)
	command.Env = append(command.Env, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	began := time.Now()
	text, err := command.CombinedOutput()
	if usage, known := command.ProcessState.SysUsage().(*syscall.Rusage); known {
		t.Logf("%s: %s, %d KiB of memory at most", name, time.Since(began).Round(time.Millisecond), usage.Maxrss)
	}
	return string(text), err
}
