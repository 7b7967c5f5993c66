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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
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

// An answer that cannot be written as JSON is an error, and nothing of it is sent.
func TestWhatCannotBeWrittenIsNoAnswer(t *testing.T) {
	recorder := httptest.NewRecorder()
	require.Error(t, write(recorder, 200, func() {}))
	require.Empty(t, recorder.Header())
	require.NoError(t, write(recorder, 201, "text"))
	require.Equal(t, 201, recorder.Code)
	require.Equal(t, "\"text\"\n", recorder.Body.String())
}

// failing is a contract of which every call fails.
type failing struct {
	grpc.ClientConnInterface
	failure error
}

func (f failing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return f.failure
}

// An event is stored before its rules run. A rule's own failure is in the answer, and in the log.
func TestAFailureOfARuleIsLogged(t *testing.T) {
	for failure, logged := range map[error]bool{errors.New("odd"): true, status.Error(codes.Internal, "logged already"): false} {
		var log bytes.Buffer
		s := &session{
			door:   New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}),
			caller: &doors.Caller{Agent: "bob", Tasks: openintentv1.NewTaskServiceClient(failing{failure: failure})},
		}
		made := s.follow(t.Context(), &draft{name: "review.started", task: new("task")}, &openintentv1.Message{})
		require.Equal(t, "INTERNAL", made.Refused.Reason)
		require.Equal(t, logged, strings.Contains(log.String(), "action=event.log error=odd"), failure)
		require.Equal(t, logged, log.Len() > 0, failure)
	}
}
