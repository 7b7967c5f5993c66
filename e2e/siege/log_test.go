package siege

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// TestLongPathsInTheLog checks that clients cannot fill the log with what they send.
func TestLongPathsInTheLog(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	before := len(h.Log())
	for _, path := range []struct{ bytes, status int }{
		{900_000, http.StatusRequestHeaderFieldsTooLarge},
		{60_000, http.StatusUnauthorized},
	} {
		for range 5 {
			require.Equal(t, path.status, askRaw(t, h, "/v1/"+strings.Repeat("p", path.bytes)))
		}
	}
	after := len(h.Log())
	figure(t, "ten requests with paths of 60 and 900 kB: the log grew by %d bytes", after-before)
	require.Less(t, after-before, 10_000)
}

// askRaw makes a request of any length and returns the status of the answer.
func askRaw(t *testing.T, h *harness.Server, path string) int {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(context.Background(), "tcp", strings.TrimPrefix(h.BaseURL(), "http://"))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, _ = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path) // The server may answer before it has read everything.
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// TestHangupWithoutAKeyFile checks that SIGHUP does not end the server, with a key file and without one.
func TestHangupWithoutAKeyFile(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	h.Hangup(t)
	require.Equal(t, http.StatusOK, h.Operator().REST(t, http.MethodGet, "/v1/intents", "").Status)
	require.Eventually(t, func() bool { return strings.Contains(h.Log(), "SIGHUP") }, harness.Patience, harness.Patience/1000)
}
