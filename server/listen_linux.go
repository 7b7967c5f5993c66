package server

import (
	"errors"
	"syscall"
)

// giveUpSilentClients sets the bound on a listening socket; accepted connections inherit it.
func giveUpSilentClients(_, _ string, raw syscall.RawConn) (err error) {
	const tcpUserTimeout = 18 // TCP_USER_TIMEOUT
	failed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silentClient.Milliseconds()))
	})
	return errors.Join(failed, err)
}
