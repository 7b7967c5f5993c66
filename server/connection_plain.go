//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// plainConnection is a connection without TLS. gRPC lets it take a read buffer only once there is something to read,
// so an idle connection keeps none.
type plainConnection struct {
	*connection
	raw   syscall.RawConn
	ready func(fd uintptr) bool

	// size and pool are what the current read asks for; the other fields are what it returned.
	size   int
	pool   mem.BufferPool
	buffer *[]byte
	read   int
	failed error
}

// newPlainConnection returns the connection in the form that keeps no buffer, where the system supports that.
func newPlainConnection(c *connection) net.Conn {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	p := &plainConnection{connection: c, raw: raw}
	p.ready = func(fd uintptr) bool {
		p.buffer = p.pool.Get(p.size)
		p.read, p.failed = syscall.Read(int(fd), *p.buffer)
		if p.failed != nil {
			p.pool.Put(p.buffer)
			p.buffer = nil
		}
		return !errors.Is(p.failed, syscall.EAGAIN)
	}
	return p
}

// ReadOnReady waits until there is something to read, then reads at most size bytes of it into a buffer from the
// pool. gRPC calls it in place of Read. Only one call may run at a time.
func (p *plainConnection) ReadOnReady(size int, pool mem.BufferPool) (buffer *[]byte, n int, err error) {
	p.size, p.pool, p.buffer, p.read, p.failed = size, pool, nil, 0, nil
	err = p.raw.Read(p.ready)
	buffer, n = p.buffer, max(p.read, 0)
	p.pool, p.buffer = nil, nil
	switch {
	case err != nil:
	case p.failed != nil:
		err = p.failed
	case n == 0:
		err = io.EOF
	default:
		err = p.received((*buffer)[:n])
	}
	if err != nil && buffer != nil {
		pool.Put(buffer)
		return nil, 0, err
	}
	return buffer, n, err
}
