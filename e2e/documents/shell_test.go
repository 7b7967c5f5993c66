package documents

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// patience bounds one block of commands, which may build the program first.
const patience = 5 * time.Minute

// shell is a shell that stays open from block to block, as a reader's does, and keeps its variables, functions and
// jobs.
type shell struct {
	input  io.Writer
	lines  chan string
	errors *sharedBuffer
}

// newShell opens a shell in the repository's root.
func newShell(t *testing.T) *shell {
	t.Helper()
	_, err := exec.LookPath("curl")
	require.NoError(t, err, "the documents use curl; install it (apt-get install curl)")
	python, err := harness.Python()
	require.NoError(t, err, "the documents use Python with packages")
	command := exec.Command("bash", "--noprofile", "--norc")
	command.Dir = root
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	s := &shell{input: input, lines: make(chan string, 1024), errors: &sharedBuffer{}}
	command.Stderr = s.errors
	require.NoError(t, command.Start(), "bash runs the documents' commands; install it")
	go func() {
		defer close(s.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			s.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return s
}

// endOfBlock is printed after each block, with the exit code of its last command.
const endOfBlock = "--- the block has ended with "

// run returns a block's output and the exit code of its last command.
func (s *shell) run(t *testing.T, commands string) (output string, exit int) {
	t.Helper()
	_, err := io.WriteString(s.input, commands+"\nprintf '\\n%s%s\\n' '"+endOfBlock+"' $?\n")
	require.NoError(t, err)
	deadline := time.After(patience)
	for {
		select {
		case line, open := <-s.lines:
			require.True(t, open, "the shell ended: %s", s.errors)
			if code, ended := strings.CutPrefix(line, endOfBlock); ended {
				exit, err := strconv.Atoi(code)
				require.NoError(t, err)
				return output, exit
			}
			output += line + "\n"
		case <-deadline:
			t.Fatalf("the block did not end; so far it printed:\n%s\n%s", output, s.errors)
		}
	}
}

// sharedBuffer is a buffer that the shell writes while the test reads.
type sharedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *sharedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *sharedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}
