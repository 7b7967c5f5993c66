package chat

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// nothing is a contract in which nothing is found.
type nothing struct{ grpc.ClientConnInterface }

func (nothing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.NotFound, "There is nothing here.")
}

// FuzzArguments gives each tool whatever a model may fill in: there is a refusal, and no failure of the server.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"inReplyTo":"msg_1","signal":"seen"}`, `{"inReplyTo":5}`, `{"limit":0,"maxBytes":-1}`, `{"since":"x","policy":"y"}`,
		`{"target":{"conversationId":"c","recipient":"agent:bob"},"content":[{"type":"text","text":"x"}],"idempotencyKey":"k","visibility":"dm","directedness":"to_me"}`,
		`{"target":{},"content":"","idempotencyKey":"","visibility":"ephemeral","directedness":"to_other"}`, `{"target":null,"content":null}`,
		`{"inReplyTo":"msg_1.2","reason":"r","until":"2030-01-01T00:00:00Z"}`, `{"inReplyTo":"@","ttlSeconds":1,"release":true}`,
	} {
		for tool := range Tools {
			f.Add(uint8(tool), []byte(seed))
		}
	}
	caller := &doors.Caller{
		Agent: "bob", Messages: openintentv1.NewMessageServiceClient(nothing{}), Attention: openintentv1.NewAttentionServiceClient(nothing{}),
	}
	f.Fuzz(func(t *testing.T, which uint8, given []byte) {
		if !json.Valid(given) {
			return // the frame around it is no frame
		}
		_, err := Tools[int(which)%len(Tools)].Call(t.Context(), caller, given)
		require.Error(t, err)
		refusal := doors.RefusalOf(err)
		require.NotEqual(t, codes.Internal, refusal.Code, "%s", refusal.Message)
		require.NotEmpty(t, refusal.Message)
	})
}

func TestAnEventBelongsToItsMessage(t *testing.T) {
	for event, message := range map[string]string{
		"msg_1": "msg_1", EditID("msg_1", 3): "msg_1", AnnotationID("msg_1", 42): "msg_1", "": "", ".": "", "@1": "",
	} {
		require.Equal(t, message, MessageOf(event), event)
	}
}
