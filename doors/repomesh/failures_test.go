package repomesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
)

// Who reads that a failure was logged finds it in the log, over REST and as a tool. What a call failed with is logged by the server.
func TestTheDoorsOwnFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	for failure, logged := range map[error]bool{
		errors.New("odd"): true, status.Error(codes.Internal, "logged already"): false, errNoMesh: false, context.Canceled: false,
	} {
		door := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		log.Reset()
		door.answer(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", Path+"/events", nil), nil, route{}, nil, failure)
		require.Equal(t, logged, strings.Contains(log.String(), "odd"), failure)

		log.Reset()
		fails := action{name: "fails", run: func(context.Context, *session, json.RawMessage) (any, error) { return nil, failure }}
		tool := door.tool(&session{door: door, caller: &doors.Caller{Agent: "bob"}}, fails)
		_, refused := tool.Call(t.Context(), nil)
		require.True(t, refused)
		require.Equal(t, logged, strings.Contains(log.String(), "action=fails error=odd"), failure)
	}
}
