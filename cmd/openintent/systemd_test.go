package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// A service manager hears that the server is ready, and not before it answers, and that it stops.
func TestTheServiceManagerHearsHowTheServerIs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { _ = manager.Close() }()
	hears := func(state string) {
		require.NoError(t, manager.SetReadDeadline(time.Now().Add(harness.Patience)))
		text := make([]byte, 100)
		n, err := manager.Read(text)
		require.NoError(t, err)
		require.Equal(t, state, string(text[:n]))
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	h := harness.StartProcess(t, harness.Options{})
	hears("READY=1")
	require.NoError(t, h.Stop())
	hears("STOPPING=1")
}

func TestNobodyNeedsToListenForHowTheServerIs(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	tellSystemd("READY=1")
	t.Setenv("NOTIFY_SOCKET", "")
	tellSystemd("READY=1")
}
