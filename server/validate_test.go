package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

func TestViolationsNameTheFieldAndSayWhatWouldBeRight(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	validator, err := newValidator(methods)
	require.NoError(t, err)
	empty := &structpb.Struct{}
	for _, test := range []struct {
		name    string
		request proto.Message
		fields  map[string]string
	}{
		{"right", &openintentv1.SendMessageRequest{Payload: empty}, nil},
		{"required", &openintentv1.SendMessageRequest{}, map[string]string{"payload": "must be given"}},
		{"a number out of bounds", &openintentv1.AskRequest{To: "a", Payload: empty, TimeoutSeconds: proto.Float64(601)},
			map[string]string{"timeout_seconds": "must be greater than 0 and less than or equal to 600"}},
		{"an empty text", &openintentv1.AskRequest{Payload: empty}, map[string]string{"to": "must not be empty"}},
		{"a long text", &openintentv1.AskRequest{To: strings.Repeat("x", 262), Payload: empty},
			map[string]string{"to": "must be at most 261 characters"}},
		{"an undefined enum value", &openintentv1.SendMessageRequest{Payload: empty, MessageType: openintentv1.MessageType(9).Enum()},
			map[string]string{"message_type": "must be one of request, response, notify, broadcast"}},
		{"an unspecified enum value", &openintentv1.SendMessageRequest{Payload: empty, MessageType: openintentv1.MessageType(0).Enum()},
			map[string]string{"message_type": "must be one of request, response, notify, broadcast"}},
		{"an enum value that is not allowed here", &openintentv1.UpdateMessageRequest{Status: openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED},
			map[string]string{"status": "must be one of read"}},
		{"a oneof", &openintentv1.SubscribeRequest{}, map[string]string{"scope": "one of its fields must be given"}},
		{"a pattern", &openintentv1.ListTraceEventsRequest{TraceId: "x"},
			map[string]string{"trace_id": "must match the pattern ^[0-9a-f]{32}$"}},
		{"a list", &openintentv1.AddChannelMembersRequest{}, map[string]string{"members": "must contain at least 1 item(s)"}},
		{"a nested field", &openintentv1.UpdateChannelRequest{Channel: &openintentv1.Channel{
			Options: &openintentv1.ChannelOptions{TtlSeconds: proto.Int64(0)}}},
			map[string]string{"channel.options.ttl_seconds": "must be greater than 0 and less than or equal to 3153600000"}},
		{"several at once", &openintentv1.AskRequest{TimeoutSeconds: proto.Float64(-1)}, map[string]string{
			"to":              "must not be empty",
			"payload":         "must be given",
			"timeout_seconds": "must be greater than 0 and less than or equal to 600",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := validator.check(test.request)
			if test.fields == nil {
				require.NoError(t, err)
				return
			}
			refusal := fault.From(err)
			require.Equal(t, fault.Invalid, refusal.Kind, err)
			got := make(map[string]string)
			for _, field := range refusal.Fields {
				got[field.Path] = field.Description
			}
			require.Equal(t, test.fields, got)
		})
	}
}
