package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
)

// silentClient is how long a client may leave sent data unacknowledged before its connection is given up. An event
// stream sends a comment every few seconds, so the server soon notices a client that vanished without a word.
const silentClient = 30 * time.Second

// listen opens both ports.
func (c Config) listen(ctx context.Context) (httpListener, grpcListener net.Listener, err error) {
	config := net.ListenConfig{Control: giveUpSilentClients}
	if httpListener, err = config.Listen(ctx, "tcp", c.HTTPAddr); err != nil {
		return nil, nil, fmt.Errorf("the REST port cannot be opened: %w", err)
	}
	if grpcListener, err = config.Listen(ctx, "tcp", c.GRPCAddr); err != nil {
		_ = httpListener.Close()
		return nil, nil, fmt.Errorf("the gRPC port cannot be opened: %w", err)
	}
	return httpListener, grpcListener, nil
}

// giveUpSilentClients sets this bound on a listening socket; accepted connections inherit it. Only Linux supports it.
func giveUpSilentClients(_, _ string, raw syscall.RawConn) (err error) {
	const tcpUserTimeout = 18 // TCP_USER_TIMEOUT
	if runtime.GOOS != "linux" {
		return nil
	}
	failed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silentClient.Milliseconds()))
	})
	return errors.Join(failed, err)
}
