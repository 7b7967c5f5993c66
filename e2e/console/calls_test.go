package console

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

type serverConfig = server.Config

// kindOfSender sends a message as the page does, and returns what kind of sender the server takes it for.
func kindOfSender(t *testing.T, b *harness.Browser, headers ...string) string {
	t.Helper()
	var made struct {
		ID   string
		Kind string `json:"sender_kind"`
	}
	call := func(path, body string) {
		answer := b.REST(t, "POST", path, body, headers...)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		answer.Decode(t, &made)
	}
	call("/v1/intents", `{"title":"Talk"}`)
	call("/v1/intents/"+made.ID+"/channels", `{"name":"talk"}`)
	call("/v1/channels/"+made.ID+"/messages", `{"payload":{"text":"hello"}}`)
	return made.Kind
}

// stream is an open stream of server-sent events.
type stream struct {
	lines *bufio.Reader
	leave context.CancelFunc
}

// follow opens a stream as the page does, and returns once it has begun.
func follow(t *testing.T, b *harness.Browser, path string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	response, err := http.DefaultClient.Do(b.Request(t, "GET", path, "", "X-OpenIntent-Console", b.Secret).WithContext(ctx))
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	s := &stream{bufio.NewReader(response.Body), cancel}
	first, err := s.lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode, first)
	return s
}

// rest returns what the stream says until it ends.
func (s *stream) rest(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(s.lines)
	require.NoError(t, err)
	return string(text)
}

// sessions returns how many sessions the database has.
func (h *house) sessions(t *testing.T) (count int) {
	return h.number(t, "SELECT count(*) FROM console_sessions")
}

// noted waits until the last use of a session is noted.
func (h *house) noted(t *testing.T) {
	t.Helper()
	eventually(t, "a use is noted", func() bool {
		return h.number(t, "SELECT count(*) FROM console_sessions WHERE used_at > ?", database.Micros(h.clock.Now())-60_000_000) > 0
	})
}

func (h *house) number(t *testing.T, query string, args ...any) (found int) {
	t.Helper()
	require.NoError(t, database.ReadSnapshot(t.Context(), h.first().DatabaseURL, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&found, query, args...))
	}))
	return found
}

// otherThan returns the database of the house for a further server, or another one where there can only be one server.
func otherThan(t *testing.T, h *house) string {
	t.Helper()
	if strings.HasPrefix(h.first().DatabaseURL, "sqlite") {
		return databasetest.URL(t, database.SQLite)
	}
	return h.first().DatabaseURL
}
