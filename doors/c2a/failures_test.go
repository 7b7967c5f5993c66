package c2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// failing is a contract of which every call fails.
type failing struct {
	grpc.ClientConnInterface
	failure error
}

func (f failing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return f.failure
}

// The door logs its own failures: those of the first request, of a tool, and of the request that begins a connection. It does not log the
// failures of the server's calls, because the server has logged them.
func TestTheDoorsOwnFailuresAreLogged(t *testing.T) {
	for failure, logged := range map[error]bool{
		errors.New("odd"): true, status.Error(codes.Internal, "logged already"): false, status.Error(codes.NotFound, "no"): false,
		context.Canceled: false,
	} {
		var log bytes.Buffer
		contract := failing{failure: failure}
		door := New(Config{Connection: contract, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := &connection{door: door, log: door.config.Logger, caller: &doors.Caller{
			Agent: "bob", Messages: openintentv1.NewMessageServiceClient(contract), Subscriptions: openintentv1.NewSubscriptionServiceClient(contract),
		}}
		says := func(part string) {
			t.Helper()
			if logged {
				require.Contains(t, log.String(), part+"error=odd")
				require.NotContains(t, log.String(), "secret")
			} else {
				require.Empty(t, log.String(), failure)
			}
			log.Reset()
		}

		_, problem := c.answer(t.Context(), frame{Method: methodInitialize, Params: json.RawMessage(`{"protocolVersion":"2026-06-02"}`)})
		require.NotNil(t, problem)
		says("method=initialize ")

		c.terms = &terms{}
		given := json.RawMessage(`{"name":"chat.react","arguments":{"inReplyTo":"secret","signal":"seen"}}`)
		result, problem := c.answer(t.Context(), frame{Method: methodCallTool, Params: given})
		require.Nil(t, problem)
		require.True(t, result.(toolResult).IsError)
		says("tool=chat.react ")

		door.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/c2a", nil))
		says("")
	}
}

// The door logs an answer that cannot be written as JSON, and tells the harness that it failed.
func TestWhatCannotBeWrittenIsLogged(t *testing.T) {
	var log bytes.Buffer
	l := &line{out: make(chan []byte, 1)}
	door := New(Config{})
	c := &connection{door: door, wire: l, log: slog.New(slog.NewTextHandler(&log, nil)), end: func(error) {}}
	require.NoError(t, c.notify(t.Context(), noteProgress, func() {}))
	require.Contains(t, string(<-l.out), `"reason":"INTERNAL"`)
	require.Contains(t, log.String(), "frame=notifications/progress ")

	log.Reset()
	result := c.resultOf(t.Context(), "chat.react", func() {}, nil)
	require.True(t, result.IsError)
	require.Contains(t, log.String(), "tool=chat.react ")
	require.Equal(t, "INTERNAL", result.StructuredContent.(refusedTool).Refused)
}
