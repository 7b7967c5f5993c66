package harness

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"openintent/sdk/go/exchange"
	"openintent/server"
)

// Clients connect to a server on both of its ports.
type Clients struct {
	// Connection connects to its gRPC port, without an identity. While the server is away, calls fail with
	// UNAVAILABLE unless grpc.WaitForReady is given.
	Connection *grpc.ClientConn
	// HTTP is a client for its REST port. What goes through it is held to the OpenAPI document.
	HTTP *http.Client

	// calls is where the calls of callers go: to the connection, or to exchanges on it.
	calls     grpc.ClientConnInterface
	scheme    string
	listening func() server.Addresses
}

// overExchanges names the variable that, set to anything, makes all callers' calls go over exchanges, as far as these carry them. So whole
// suites are run over exchanges.
const overExchanges = "OPENINTENT_TEST_EXCHANGES"

// Exchanging returns clients whose calls go over exchanges from the first one on, as far as these carry them.
func (c *Clients) Exchanging(tb testing.TB) *Clients {
	tb.Helper()
	other := *c
	exchanges := exchange.Always(c.Connection)
	other.calls = exchanges
	tb.Cleanup(exchanges.Close)
	return &other
}

// OverTLS makes clients that connect otherwise than those of the server, such as with another certificate.
func (s *Server) OverTLS(tb testing.TB, encryption *tls.Config) *Clients {
	tb.Helper()
	clients := newClients(tb, s.current, encryption)
	return &clients
}

// newClients makes clients that end with the test; with encryption they use TLS. They look up the address for each
// connection, because it changes with each start.
func newClients(tb testing.TB, listening func() server.Addresses, encryption *tls.Config) Clients {
	tb.Helper()
	c := Clients{scheme: "http", listening: listening}
	security := insecure.NewCredentials()
	if encryption != nil {
		c.scheme, security = "https", credentials.NewTLS(encryption)
	}
	var dialer net.Dialer
	connection, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithTransportCredentials(security),
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
	transport := &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: encryption, ForceAttemptHTTP2: true}
	c.Connection, c.calls, c.HTTP = connection, connection, &http.Client{Transport: describe(tb, transport)}
	if os.Getenv(overExchanges) != "" {
		c.calls = exchange.Always(connection)
	}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := connection.Close(); err != nil {
			tb.Errorf("closing the connection: %v", err)
		}
	})
	return c
}

// BaseURL returns the current address of the REST port as a URL, without a slash at the end.
func (c *Clients) BaseURL() string { return c.scheme + "://" + c.listening().HTTP }

// GRPCAddress returns the current address of the gRPC port, as host:port.
func (c *Clients) GRPCAddress() string { return c.listening().GRPC }

// Line is a path to a server that a test can cut. It survives restarts of the server.
type Line struct {
	Clients
	grpc, http *proxy
}

// Line makes another path to the server, for clients whose connections the test wants to cut.
func (s *Server) Line(tb testing.TB) *Line {
	tb.Helper()
	return LineTo(tb, func() *Server { return s })
}

// LineTo makes a path to the server that target returns at the moment of each connection, like a load balancer. Cut
// it to move its connections.
func LineTo(tb testing.TB, target func() *Server) *Line {
	tb.Helper()
	l := &Line{
		grpc: startProxy(tb, func() string { return target().listening().GRPC }),
		http: startProxy(tb, func() string { return target().listening().HTTP }),
	}
	l.Clients = newClients(tb, func() server.Addresses {
		return server.Addresses{HTTP: l.http.address(), GRPC: l.grpc.address()}
	}, nil)
	return l
}

// Cut resets all connections on the line, losing whatever is in transit in both directions, and returns their number.
// Clients can make new ones immediately.
func (l *Line) Cut() int { return l.grpc.cut() + l.http.cut() }
