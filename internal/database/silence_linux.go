package database

import (
	"errors"
	"strings"
	"syscall"
)

// giveUpSilentServers bounds how long a connection waits for a server that acknowledges nothing that was sent to it.
func giveUpSilentServers(network, _ string, raw syscall.RawConn) (err error) {
	const tcpUserTimeout = 18 // TCP_USER_TIMEOUT
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silencePatience.Milliseconds()))
	})
	return errors.Join(failed, err)
}
