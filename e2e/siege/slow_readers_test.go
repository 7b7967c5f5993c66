package siege

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// largeIntent creates an intent whose JSON is large, and returns its id.
func largeIntent(t *testing.T, h *harness.Server) string {
	t.Helper()
	answer := h.As("alice").REST(t, http.MethodPost, "/v1/intents", fmt.Sprintf(
		`{"title":"large","description":"%s"}`, strings.Repeat("x", 60_000)))
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var made struct{ ID string }
	answer.Decode(t, &made)
	return made.ID
}

// TestAnswersNobodyTakesOverGRPC uses clients that make calls over gRPC and do not read the answers. The waiting
// answers are bounded, and at full size the clients are cut off.
func TestAnswersNobodyTakesOverGRPC(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	id := largeIntent(t, h)
	before := residentMB(t, h)
	a := attack(t, h, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	request, err := proto.Marshal(&openintentv1.GetIntentRequest{IntentId: id})
	require.NoError(t, err)
	calls := size(3000, 9000)
	for range calls {
		stream, err := a.call(openintentv1.IntentService_GetIntent_FullMethodName, false, "x-api-key", harness.Key)
		require.NoError(t, err)
		require.NoError(t, a.framer.WriteData(stream, true, append(prefix(len(request)), request...)))
	}
	a.until("refusals", func() bool { return len(a.statuses) > 0 || a.ended != nil })
	figure(t, "answers of 60 kB that nobody takes over gRPC: %d calls, %d refused; %d MB before, %d MB after", calls,
		a.count(statusExhausted), before, residentMB(t, h))
	require.Less(t, residentMB(t, h), before+size(300, 420)) // with room for garbage
	if *full {
		a.until("the end of the connection", func() bool { return a.ended != nil })
		figure(t, "answers that nobody takes over gRPC: the connection was closed; %d MB then", residentMB(t, h))
	}
}

// TestAnswersNobodyTakesOverREST checks that clients that make REST requests and do not read the answers are cut off.
func TestAnswersNobodyTakesOverREST(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	id := largeIntent(t, h)
	before := residentMB(t, h)
	connections := size(20, 200)
	var dialer net.Dialer
	request := strings.Repeat(fmt.Sprintf("GET /v1/intents/%s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n", id, harness.Key), 200)
	all := make([]net.Conn, 0, connections)
	for range connections {
		connection, err := dialer.DialContext(context.Background(), "tcp", strings.TrimPrefix(h.BaseURL(), "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = connection.Write([]byte(request))
		require.NoError(t, err)
		all = append(all, connection)
	}
	require.Equal(t, http.StatusOK, h.As("alice").REST(t, http.MethodGet, "/v1/intents/"+id, "").Status, "others are served")
	figure(t, "answers that nobody takes over REST: %d connections; %d MB before, %d MB after", len(all), before, residentMB(t, h))
	require.Less(t, residentMB(t, h), before+200)
}
