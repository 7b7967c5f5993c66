package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// A server that a test kit has started ends with the process of the kit, whose end of the pipe then closes.
func TestAServerStopsWhenItsInputEnds(t *testing.T) {
	clearEnvironment(t)
	ready := filepath.Join(t.TempDir(), "ready.json")
	input, lifeline := io.Pipe()
	var log lockedBuffer
	stopped := make(chan int, 1)
	go func() {
		stopped <- run(t.Context(), []string{
			"serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--database-url=sqlite::memory:", "--ready-file", ready, "--until-input-ends",
		}, terminal{stdin: input, stdout: &log, stderr: &log})
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(ready)
		return err == nil
	}, harness.Patience, 10*time.Millisecond, "%s", &log)
	_, err := io.WriteString(lifeline, "whatever is said there means nothing\n")
	require.NoError(t, err)
	require.Empty(t, stopped)
	require.NoError(t, lifeline.Close())
	require.Equal(t, exitOK, <-stopped, "%s", &log)
}
