package strangers

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// Whoever opens connections and shows no key holds no more of them than the bound, on both ports together. Those on which somebody has shown
// a key stay, and whoever comes with a key gets in.
func TestConnectionsWithoutAKeyAreBounded(t *testing.T) {
	databasetest.OneEngineOf(t)
	const most, dialed = 10, 40
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.MaxStrangers = 2 * most }})
	rest := strings.TrimPrefix(h.BaseURL(), "http://")
	known := dial(t, rest)
	ask := func(known net.Conn) {
		t.Helper()
		require.NoError(t, known.SetDeadline(time.Now().Add(harness.Patience)))
		_, err := known.Write([]byte("GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: " + harness.Key + "\r\n\r\n"))
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(known), nil)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
	ask(known)
	_, err := h.As("alice").Agents.ListAgents(t.Context(), &openintentv1.ListAgentsRequest{})
	require.NoError(t, err)

	ended := make(chan struct{}, dialed)
	for i := range dialed {
		address := rest
		if i%2 == 1 {
			address = h.GRPCAddress()
		}
		connection := dial(t, address)
		go func() { // the ports accept in an order of their own, so any of them may be the oldest ones
			_ = connection.SetReadDeadline(time.Now().Add(harness.Patience))
			if _, err := connection.Read(make([]byte, 1)); err != nil && !isTimeout(err) {
				ended <- struct{}{}
			}
		}()
	}
	for range dialed - most {
		select {
		case <-ended:
		case <-time.After(harness.Patience):
			t.Fatal("the server keeps more connections without a key than it may")
		}
	}
	ask(known)
	ask(dial(t, rest)) // the newest stranger stays, and may show a key
	_, err = h.As("alice").Agents.ListAgents(t.Context(), &openintentv1.ListAgentsRequest{})
	require.NoError(t, err)
	require.Equal(t, 200, h.As("bob").REST(t, "GET", "/v1/agents", "").Status)
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // the error of a connection itself
	return ok && timeout.Timeout()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}
