package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheGRPCPortTellsClientsOfHTTP1WhereRESTIs(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	sentence := "This port speaks gRPC only; REST is at http://" + server.HTTP + "."
	for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodOptions, "PROPFIND"} {
		got := asked(t, server.GRPC, verb, "/v1/intents", server.GRPC, "Origin", "https://attacker.example")
		problem := problemOf(t, got, http.StatusBadRequest)
		require.Equal(t, "NOT_REST", problem["reason"], verb)
		require.Equal(t, sentence, problem["detail"])
		require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
	}
	large, err := http.NewRequestWithContext(as(t), http.MethodPost, "http://"+server.GRPC, strings.NewReader(strings.Repeat("x", 40<<10)))
	require.NoError(t, err)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(large)
	require.NoError(t, err, "the answer is not lost in a reset")
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// A client that sends without end, and never reads, is cut off.
func TestAStrayClientHoldsNothingForLong(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	connection, err := net.Dial("tcp", server.GRPC)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	endless := strings.NewReader("GET / HTTP/1.1\r\n" + strings.Repeat("X-Long: "+strings.Repeat("y", 1000)+"\r\n", 1<<16))
	_, err = io.Copy(connection, endless)
	require.Error(t, err)
	require.NotErrorIs(t, err, net.ErrClosed)
}

func TestWhatIsNoRequestOfHTTP1IsLeftToGRPC(t *testing.T) {
	for begun, stray := range map[string]bool{
		greeting: false, greeting[:1]: false, greeting[:5]: false, "GET / HTTP/1.1\r\n": true, "PUT /": true, "PRX": true,
		"\x16\x03\x01": false, "SSH-2.0": true, "\x00\x00\x00\x04": false,
	} {
		require.Equal(t, stray, isHTTP1(begun), "%q", begun)
	}
	other := &net.TCPAddr{IP: net.IPv4zero, Port: 8000}
	require.Contains(t, string(strayAnswer(other, false)), "REST is at port 8000 of this server.")
	require.NoError(t, answerStray(nil, nil))
}
