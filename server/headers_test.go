package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

func TestIfMatchBecomesTheExpectedVersion(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	called := methods[openintentv1.IntentService_SetIntentStatus_FullMethodName]
	for _, test := range []struct {
		name   string
		values []string
		field  *int64
		want   *int64
		bad    string
	}{
		{name: "no header", want: nil},
		{name: "no header, a field", field: proto.Int64(4), want: proto.Int64(4)},
		{name: "bare", values: []string{"5"}, want: proto.Int64(5)},
		{name: "quoted", values: []string{`"5"`}, want: proto.Int64(5)},
		{name: "weak", values: []string{`W/"5"`}, want: proto.Int64(5)},
		{name: "space around", values: []string{` "5" `}, want: proto.Int64(5)},
		{name: "both and equal", values: []string{`"5"`}, field: proto.Int64(5), want: proto.Int64(5)},
		{name: "both and different", values: []string{`"5"`}, field: proto.Int64(6), bad: "differs from expected_version"},
		{name: "zero is a value", values: []string{"5"}, field: proto.Int64(0), bad: "differs"},
		{name: "star", values: []string{"*"}, bad: "one version number"},
		{name: "empty", values: []string{""}, bad: "one version number"},
		{name: "half quoted", values: []string{`"5`}, bad: "one version number"},
		{name: "one quote", values: []string{`"`}, bad: "one version number"},
		{name: "weak without quotes", values: []string{`W/5`}, bad: "one version number"},
		{name: "negative", values: []string{"-5"}, bad: "one version number"},
		{name: "signed", values: []string{"+5"}, bad: "one version number"},
		{name: "two in one", values: []string{`"5", "6"`}, bad: "one version number"},
		{name: "two", values: []string{"5", "5"}, bad: "one version number"},
		{name: "too large", values: []string{"9223372036854775808"}, bad: "one version number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := &openintentv1.SetIntentStatusRequest{ExpectedVersion: test.field}
			err := fillFromHeaders(metadata.MD{"if-match": test.values}, called, request)
			if test.bad != "" {
				require.ErrorContains(t, err, test.bad)
				require.Equal(t, "If-Match", fault.From(err).Fields[0].Path)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, request.ExpectedVersion)
		})
	}
}

func TestIdempotencyKeyHeader(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	called := methods[openintentv1.MessageService_SendMessage_FullMethodName]
	request := &openintentv1.SendMessageRequest{}
	require.NoError(t, fillFromHeaders(metadata.Pairs("idempotency-key", "k"), called, request))
	require.Equal(t, "k", request.GetIdempotencyKey())
	require.NoError(t, fillFromHeaders(metadata.Pairs("idempotency-key", "k"), called, request), "both and equal")
	require.ErrorContains(t, fillFromHeaders(metadata.Pairs("idempotency-key", "j"), called, request), "differs")
	require.ErrorContains(t,
		fillFromHeaders(metadata.Pairs("idempotency-key", "k", "idempotency-key", "k"), called, request), "once")

	get := methods[openintentv1.MessageService_GetMessage_FullMethodName]
	require.NoError(t, fillFromHeaders(metadata.Pairs("idempotency-key", "k", "if-match", "x"), get,
		&openintentv1.GetMessageRequest{}), "a method without the fields ignores the headers")
}
