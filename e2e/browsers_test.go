package e2e

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

const console = "https://console.example"

// TestPagesOfListedOriginsCallAndFollow does what a browser does for a page of a listed origin: it asks before a call, calls,
// and reads a stream. For a foreign page it does the same in vain, on both ports.
func TestPagesOfListedOriginsCallAndFollow(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{
		URL: databasetest.URL(t, database.SQLite), Flags: []string{"--cors-origins", console},
	})
	page := h.As("page")
	asked := page.REST(t, http.MethodOptions, "/v1/intents", "", "Origin", console, "X-API-Key", "",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-agent-id,x-api-key")
	require.Equal(t, http.StatusNoContent, asked.Status)
	require.Equal(t, console, asked.Header.Get("Access-Control-Allow-Origin"))

	called := page.REST(t, http.MethodPost, "/v1/intents", `{"title": "Watch"}`, "Origin", console)
	require.Equal(t, http.StatusCreated, called.Status)
	require.Equal(t, console, called.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, called.Header.Get("Access-Control-Expose-Headers"), "Etag")
	var intent struct{ ID string }
	called.Decode(t, &intent)

	stream := follow(t, page, "/v1/subscribe/intents/"+intent.ID, console)
	defer func() { _ = stream.Body.Close() }()
	require.Equal(t, console, stream.Header.Get("Access-Control-Allow-Origin"))
	sent := page.REST(t, http.MethodPost, "/v1/intents/"+intent.ID+"/channels/progress/messages", `{"payload": {"percent": 100}}`)
	require.Equal(t, http.StatusCreated, sent.Status)
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"percent":100`) {
		continue
	}
	require.NoError(t, lines.Err())
	require.Contains(t, lines.Text(), `"percent":100`)

	for _, origin := range []string{"https://attacker.example", "null"} {
		refused := follow(t, page, "/v1/subscribe/intents/"+intent.ID, origin)
		defer func() { _ = refused.Body.Close() }()
		text, err := io.ReadAll(refused.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "ORIGIN_NOT_ALLOWED")
		require.Empty(t, refused.Header.Get("Access-Control-Allow-Origin"))

		ctx := metadata.AppendToOutgoingContext(t.Context(), "origin", origin)
		_, err = page.Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{})
		require.Equal(t, "ORIGIN_NOT_ALLOWED", harness.Reason(err))
	}
}

// follow opens a stream as a page's script does.
func follow(t *testing.T, page *harness.Caller, path, origin string) *http.Response {
	request, err := page.Request(t.Context(), http.MethodGet, path, "")
	require.NoError(t, err)
	request.Header.Set("Origin", origin)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	return response
}
