package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// What a model reads of a tool's failure is true: who failed has logged it. What a call failed with is logged by the server, and what the
// tools of another protocol refuse by the door of that protocol.
func TestTheDoorsOwnFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	door := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s := &session{door: door, caller: &doors.Caller{Agent: "bob"}, ended: t.Context()}
	for failure, logged := range map[error]bool{
		errors.New("odd"): true, status.Error(codes.Internal, "logged already"): false, errAddress: false, context.Canceled: false,
		ownRefusal{"no"}: false,
	} {
		log.Reset()
		fails := tool{&sdk.Tool{Name: "fails"}, func(context.Context, *session, json.RawMessage) (any, error) { return nil, failure }}
		result, err := s.handler(fails)(t.Context(), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Arguments: json.RawMessage(`{"x":"secret"}`)}})
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Equal(t, logged, strings.Contains(log.String(), "tool=fails error=odd"), failure)
		require.Equal(t, logged, log.Len() > 0, failure)
		require.NotContains(t, log.String(), "secret")
	}
}

// secondFails is a contract whose first two calls succeed. All later ones fail.
type secondFails struct {
	grpc.ClientConnInterface
	calls int
}

func (c *secondFails) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	if c.calls++; c.calls > 2 { // the message, and what is said about it
		return errors.New("odd")
	}
	return nil
}

// A mark of one message that fails is in the answer beside those of the others, and in the log.
func TestAFailureOfOneMarkIsLogged(t *testing.T) {
	var log bytes.Buffer
	contract := &secondFails{}
	s := &session{door: New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}), caller: &doors.Caller{
		Agent: "bob", Messages: openintentv1.NewMessageServiceClient(contract), Reactions: openintentv1.NewReactionServiceClient(contract),
	}}
	answer, err := mark.call(t.Context(), s, json.RawMessage(`{"messages":["one","two"],"signal":"seen"}`))
	require.NoError(t, err)
	require.Equal(t, 1, answer.(markedAnswer).Marked)
	require.Equal(t, "INTERNAL", answer.(markedAnswer).Refused[0].Refused)
	require.Contains(t, log.String(), "tool=mark error=odd")
}
