package backups

import (
	"syscall"
	"testing"
	"time"

	"openintent/e2e/harness"
)

// commands returns the commands that docs/backups.md shows under a name.
func commands(t *testing.T, name string) string {
	t.Helper()
	return harness.PageCommands(t, "backups.md", "e2e/backups", name)
}

// follow runs commands of the page, with the program in the path, and returns what they print.
func follow(t *testing.T, name string, environment ...string) (output string, err error) {
	t.Helper()
	command := harness.WithProgram(t, commands(t, name), environment...)
	began := time.Now()
	text, err := command.CombinedOutput()
	if usage, known := command.ProcessState.SysUsage().(*syscall.Rusage); known {
		t.Logf("%s: %s, %d KiB of memory at most", name, time.Since(began).Round(time.Millisecond), usage.Maxrss)
	}
	return string(text), err
}
