package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// A script that starts a server waits for the file, and finds in it where the server answers.
func TestTheReadyFileIsThereWhileTheServerIsReady(t *testing.T) {
	clearEnvironment(t)
	folder := t.TempDir()
	ready := filepath.Join(folder, "ready.json")
	require.NoError(t, os.WriteFile(ready, []byte("of a server that was killed"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan int, 1)
	var log lockedBuffer
	go func() {
		stopped <- run(ctx, []string{
			"serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--ready-file", ready,
			"--database-url=sqlite:" + filepath.Join(folder, "data.db"),
		}, terminal{stdout: &log, stderr: &log})
	}()
	var at struct {
		HTTP, GRPC string
		PID        int
	}
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &at) == nil
	}, harness.Patience, 10*time.Millisecond, "%s", &log)
	require.Equal(t, os.Getpid(), at.PID)
	for _, address := range []string{at.HTTP, at.GRPC} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, connection.Close())
	}
	second := offline(t, "serve", "--http-addr", at.HTTP, "--grpc-addr=127.0.0.1:0", "--ready-file", ready,
		"--database-url=sqlite:"+filepath.Join(folder, "second.db"))
	require.Equal(t, exitFailed, second.exit)
	require.FileExists(t, ready, "a server that was started by mistake leaves it")
	cancel()
	require.Equal(t, exitOK, <-stopped, "%s", &log)
	require.NoFileExists(t, ready)
}

func TestAServerStopsThatCannotWriteItsReadyFile(t *testing.T) {
	clearEnvironment(t)
	folder := t.TempDir()
	did := at(t, "", "serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--ready-file", filepath.Join(folder, "none", "ready"),
		"--database-url=sqlite:"+filepath.Join(folder, "data.db"))
	require.Equal(t, exitUsage, did.exit)
	require.Contains(t, did.stderr, "openintent: the ready file cannot be written, because its folder")
	require.NoFileExists(t, filepath.Join(folder, "data.db"))
}
