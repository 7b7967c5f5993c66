package siege

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// underWay is how many requests of one caller may be under way at the door for MCP: as many as it may have streams (--max-streams).
const underWay = 1000

// crowd connects to the REST port many times, sends the same bytes on each connection, and reads nothing.
func crowd(t *testing.T, h *harness.Server, many int, bytes string) (connections []net.Conn) {
	t.Helper()
	var dialer net.Dialer
	for range many {
		connection, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(h.BaseURL(), "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = connection.Write([]byte(bytes))
		require.NoError(t, err)
		connections = append(connections, connection)
	}
	return connections
}

// doorPost is a request to the door for MCP as it goes over the wire, whose body may be shorter than it promises.
func doorPost(promised int, body string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nX-Agent-ID: mallory\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", harness.Key, promised, body)
}

// doorServes checks that the door answers an honest agent.
func doorServes(t *testing.T, h *harness.Server) {
	t.Helper()
	answer := h.As("alice").REST(t, http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`,
		"Accept", "application/json, text/event-stream")
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	require.Contains(t, string(answer.Body), "alice")
}

// TestCrowdsAtTheDoor lets crowds stand at the door for MCP: clients that have asked and went quiet, that never finish their request,
// and that never read their answers. An honest agent is served meanwhile, and a client of a crowd costs little.
func TestCrowdsAtTheDoor(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	h.As("mallory").REST(t, http.MethodPost, "/v1/intents", `{"title":"`+strings.Repeat("t", 1000)+`"}`)
	doorServes(t, h)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, attack := range []struct {
		what  string
		many  int
		bytes string
		// answered says that the first answer comes, after which the client is idle.
		answered bool
		perEach  int // KiB
	}{
		{"clients that asked once and went quiet", size(300, 4000), doorPost(len(call), call), true, 64},
		{"clients that do not finish their request", size(300, 4000), doorPost(900_000, call), false, 64},
		{"clients that send their headers slowly", size(300, 4000), "POST /mcp HTTP/1.1\r\nHost: loc", false, 64},
		{"clients that ask 100 times and read nothing", size(20, 200), strings.Repeat(doorPost(len(call), call), 100), false, 1024},
	} {
		before := residentMB(t, h)
		served := 0
		for _, connection := range crowd(t, h, attack.many, attack.bytes) {
			if !attack.answered {
				break
			}
			line, err := bufio.NewReader(connection).ReadString('\n')
			require.NoError(t, err)
			if strings.Contains(line, "200 OK") {
				served++
				continue
			}
			require.Contains(t, line, "429 Too Many Requests", "one caller may have %d requests under way at the door", underWay)
		}
		if attack.answered {
			require.GreaterOrEqual(t, served, min(attack.many, underWay))
		}
		doorServes(t, h)
		after := residentMB(t, h)
		figure(t, "%d %s: %d MB before, %d MB after", attack.many, attack.what, before, after)
		require.Less(t, after, before+128+attack.many*attack.perEach>>10, attack.what)
	}
}
