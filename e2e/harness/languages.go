package harness

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Prepare runs a script of the repository that installs what another language needs, and returns what the script
// prints. Where the language is not available, the test fails in continuous integration; elsewhere it is skipped,
// because people who work only on the server need not install it.
func Prepare(t *testing.T, root, script string, arguments ...string) string {
	t.Helper()
	preparing := Command(root, script, arguments...)
	var refusal bytes.Buffer
	preparing.Stderr = &refusal
	output, err := preparing.Output()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s: %v\n%s", script, err, refusal.String())
	default:
		t.Skipf("%s: %v\n%s", script, err, refusal.String()) //nolint:forbidigo // see above
	}
	return strings.TrimSpace(string(output))
}

// Command makes a command that starts in a folder. A program name with a slash is relative to that folder.
func Command(folder, program string, arguments ...string) *exec.Cmd {
	if strings.Contains(program, "/") {
		program = "./" + program
	}
	made := exec.Command(program, arguments...)
	made.Dir = folder
	made.WaitDelay = time.Second
	return made
}
