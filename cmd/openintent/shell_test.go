package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// shell runs commands against a server under test, as one agent. Unless it has a key, it uses the harness's.
type shell struct {
	server *harness.Server
	key    string
	agent  string
	stdin  string
	// through is an address that leads to the server; its own if it is empty.
	through string
}

// outcome is the result of a command.
type outcome struct {
	exit           int
	stdout, stderr string
}

func (s shell) connection() []string {
	flags := []string{"--server", cmp.Or(s.through, s.server.GRPCAddress()), "--api-key", cmp.Or(s.key, harness.Key)}
	if s.agent != "" {
		flags = append(flags, "--agent", s.agent)
	}
	return flags
}

// run runs a command to its end.
func (s shell) run(ctx context.Context, arguments ...string) outcome {
	var stdout, stderr bytes.Buffer
	exit := run(ctx, append(arguments, s.connection()...), terminal{stdin: strings.NewReader(s.stdin), stdout: &stdout, stderr: &stderr})
	return outcome{exit, stdout.String(), stderr.String()}
}

// does runs a command that must succeed and returns what it printed.
func (s shell) does(t *testing.T, arguments ...string) string {
	t.Helper()
	did := s.run(t.Context(), arguments...)
	require.Equal(t, exitOK, did.exit, "%s: %s", arguments, did.stderr)
	return strings.TrimSuffix(did.stdout, "\n")
}

// refused runs a command that must fail with this exit code, and returns the one line of its complaint.
func (s shell) refused(t *testing.T, exit int, arguments ...string) string {
	t.Helper()
	did := s.run(t.Context(), arguments...)
	require.Equal(t, exit, did.exit, "%s: %s%s", arguments, did.stdout, did.stderr)
	require.Equal(t, 1, strings.Count(did.stderr, "\n"), "one line: %q", did.stderr)
	return strings.TrimSuffix(did.stderr, "\n")
}

// begin runs a command in the background.
func (s shell) begin(ctx context.Context, arguments ...string) *background {
	return beginAt(ctx, strings.NewReader(s.stdin), append(arguments, s.connection()...)...)
}

// beginAt runs a command in the background whose arguments say where its server is.
func beginAt(ctx context.Context, stdin io.Reader, arguments ...string) *background {
	b := &background{lines: make(chan string, 100), ended: make(chan outcome, 1)}
	reader, writer := io.Pipe()
	go func() {
		defer close(b.lines)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			b.lines <- scanner.Text()
		}
	}()
	go func() {
		var stderr bytes.Buffer
		exit := run(ctx, arguments, terminal{stdin: stdin, stdout: writer, stderr: &stderr})
		_ = writer.Close()
		b.ended <- outcome{exit: exit, stderr: stderr.String()}
	}()
	return b
}

// background is a running command.
type background struct {
	lines chan string
	ended chan outcome
}

// line waits for the next line that the command prints.
func (b *background) line(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-b.lines:
		require.True(t, open, "the command ended")
		return line
	case <-time.After(harness.Patience):
		require.FailNow(t, "the command printed nothing")
	}
	return ""
}

// end waits for the end and returns the outcome with the lines that were left.
func (b *background) end(t *testing.T) outcome {
	t.Helper()
	select {
	case did := <-b.ended:
		for line := range b.lines {
			did.stdout += line + "\n"
		}
		return did
	case <-time.After(harness.Patience):
		require.FailNow(t, "the command did not end")
	}
	return outcome{}
}

var (
	idForm   = regexp.MustCompile(`\b(?:chan|msg)_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	timeForm = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6}Z)?`)
)

// masked replaces ids by short names such as msg-1, numbered in the order of their appearance, and times by TIME.
func masked(text string) string {
	names := make(map[string]string)
	text = idForm.ReplaceAllStringFunc(text, func(id string) string {
		if _, known := names[id]; !known {
			kind, _, found := strings.Cut(id, "_")
			if !found {
				kind = "intent"
			}
			names[id] = kind + "-" + string(rune('1'+len(names)))
		}
		return names[id]
	})
	return timeForm.ReplaceAllString(text, "TIME")
}

// squeezed reduces runs of spaces to one, so that a table can be compared without its column widths.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// file writes a file with a text and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
