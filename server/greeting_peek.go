//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"
)

// peek waits for the first bytes of a connection and leaves them there. It returns "" if none come.
func peek(tcp *net.TCPConn, most int) string {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return ""
	}
	buffer, n := make([]byte, most), 0
	err = raw.Read(func(fd uintptr) bool {
		var failed error
		n, _, failed = syscall.Recvfrom(int(fd), buffer, syscall.MSG_PEEK)
		return !errors.Is(failed, syscall.EAGAIN)
	})
	if err != nil {
		return ""
	}
	return string(buffer[:max(n, 0)])
}
