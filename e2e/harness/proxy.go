package harness

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands in front of a server's port and can cut the connections that go through it.
type proxy struct {
	listener net.Listener
	target   func() string
	running  sync.WaitGroup

	mutex       sync.Mutex
	connections map[net.Conn]bool
	closed      bool
}

// startProxy serves until the test ends. It asks for the target at each connection.
func startProxy(tb testing.TB, target func() string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, connections: make(map[net.Conn]bool)}
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		p.mutex.Lock()
		p.closed = true
		p.mutex.Unlock()
		p.cut()
		p.running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// serve carries bytes both ways until either side ends.
func (p *proxy) serve(client net.Conn) {
	defer p.drop(client)
	if !p.keep(client) {
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", p.target())
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		p.drop(client)
	})
	_, _ = io.Copy(server, client)
	p.drop(server)
	back.Wait()
}

// keep records a connection so that it can be cut; it returns false once the proxy is closed.
func (p *proxy) keep(connection net.Conn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.closed {
		p.connections[connection] = true
	}
	return !p.closed
}

func (p *proxy) drop(connection net.Conn) {
	_ = connection.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.connections, connection)
}

// cut resets all connections; both sides lose what is in transit.
func (p *proxy) cut() (count int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.connections {
		_ = connection.(*net.TCPConn).SetLinger(0)
		_ = connection.Close()
	}
	return len(p.connections) / 2
}
