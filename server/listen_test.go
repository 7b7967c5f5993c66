package server

import (
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Accepted connections inherit the listening socket's bound, on both ports.
func TestClientsThatVanishAreGivenUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	cfg := Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0"}
	cfg.AdminAddr = "127.0.0.1:0"
	opened, err := cfg.listen(t.Context())
	require.NoError(t, err)
	for _, listener := range []net.Listener{opened.http, opened.grpc, opened.admin} {
		t.Cleanup(func() { _ = listener.Close() })
		client, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		accepted, err := listener.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = accepted.Close() })
		raw, err := accepted.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		var bound int
		require.NoError(t, raw.Control(func(fd uintptr) {
			bound, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, 18)
		}))
		require.NoError(t, err)
		require.EqualValues(t, silentClient.Milliseconds(), bound)
	}
}
