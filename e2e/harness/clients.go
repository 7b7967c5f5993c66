package harness

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"openintent/server"
)

// Clients reach a server on both of its ports.
type Clients struct {
	// Connection reaches its gRPC port, without an identity. Calls may be made while the server is away: they fail with
	// UNAVAILABLE, unless grpc.WaitForReady is given.
	Connection *grpc.ClientConn
	// HTTP is a client for its REST port.
	HTTP *http.Client

	listening func() server.Addresses
}

// newClients makes clients that end with the test. They ask for the address whenever they connect, since it changes with
// each start.
func newClients(tb testing.TB, listening func() server.Addresses) Clients {
	tb.Helper()
	c := Clients{listening: listening}
	var dialer net.Dialer
	connection, err := grpc.NewClient("passthrough:///openintent",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", c.GRPCAddress())
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 5 * time.Second,
		}))
	if err != nil {
		tb.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	c.Connection, c.HTTP = connection, &http.Client{Transport: transport}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := connection.Close(); err != nil {
			tb.Errorf("closing the connection: %v", err)
		}
	})
	return c
}

// BaseURL is where the REST port listens at the moment, without a slash at the end.
func (c *Clients) BaseURL() string { return "http://" + c.listening().HTTP }

// GRPCAddress is where the gRPC port listens at the moment, as host:port.
func (c *Clients) GRPCAddress() string { return c.listening().GRPC }

// Line is a way to a server that can be cut. It stays when the server restarts.
type Line struct {
	Clients
	grpc, http *proxy
}

// Line makes a further way to the server, for clients whose connections the test wants to cut.
func (s *Server) Line(tb testing.TB) *Line {
	tb.Helper()
	return LineTo(tb, func() *Server { return s })
}

// LineTo makes a way to whichever server is asked for at the time, as a load balancer does. Cut it to move its connections.
func LineTo(tb testing.TB, target func() *Server) *Line {
	tb.Helper()
	l := &Line{
		grpc: startProxy(tb, func() string { return target().listening().GRPC }),
		http: startProxy(tb, func() string { return target().listening().HTTP }),
	}
	l.Clients = newClients(tb, func() server.Addresses {
		return server.Addresses{HTTP: l.http.address(), GRPC: l.grpc.address()}
	})
	return l
}

// Cut resets all connections on the line, with whatever is under way in both directions, and gives their number. New ones
// can be made at once.
func (l *Line) Cut() int { return l.grpc.cut() + l.http.cut() }
