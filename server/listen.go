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

// silentClient is after how long a connection is given up whose other end takes nothing that is sent to it. An event stream
// sends a comment every few seconds, so a client that vanished without a word is noticed soon after.
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

// giveUpSilentClients sets the bound on a listening socket; accepted connections take it over. Only Linux has it.
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
