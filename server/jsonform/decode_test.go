package jsonform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/server/jsonform"
)

func TestDecodeReadsARequest(t *testing.T) {
	var got openintentv1.SendMessageRequest
	require.Empty(t, jsonform.Decode([]byte(` {
		"sender": "a", "to": null, "message_type": "request", "payload": {"n": 1.5, "list": [null, "é\ud83d\ude00"]},
		"expires_at": "2026-02-13T11:00:00+01:00"
	} `), &got, jsonform.Options{}))
	requireEqual(t, &openintentv1.SendMessageRequest{
		Sender: proto.String("a"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		Payload:   object(map[string]any{"n": 1.5, "list": []any{nil, "é😀"}}),
		ExpiresAt: &timestamppb.Timestamp{Seconds: 1770976800},
	}, &got)
}

func TestDecodeTakesTheWordsOfExistingClients(t *testing.T) {
	var message openintentv1.SendMessageRequest
	require.Empty(t, jsonform.Decode([]byte(`{"message_type":"message"}`), &message, jsonform.Options{}))
	require.Equal(t, openintentv1.MessageType_MESSAGE_TYPE_NOTIFY, message.GetMessageType())

	var channel openintentv1.CreateChannelRequest
	require.Empty(t, jsonform.Decode([]byte(`{"member_policy":"open"}`), &channel, jsonform.Options{}))
	require.Equal(t, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, channel.GetMemberPolicy())

	for word, want := range map[string]openintentv1.AgentStatus{
		"healthy": 2, "degraded": 2, "busy": 2, "idle": 2, "active": 2, "terminated": 6, "offline": 6, "deregistered": 6,
	} {
		var status openintentv1.UpdateAgentStatusRequest
		require.Empty(t, jsonform.Decode([]byte(`{"status":"`+word+`"}`), &status, jsonform.Options{}))
		require.Equal(t, want, status.GetStatus(), word)
	}
}

func TestDecodeReadsTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-02-13T10:00:00Z":             "2026-02-13T10:00:00.000000Z",
		"2026-02-13t10:00:00.5z":           "2026-02-13T10:00:00.500000Z",
		"2026-02-13T10:00:00":              "2026-02-13T10:00:00.000000Z",
		"2026-02-13T10:00:00.123456":       "2026-02-13T10:00:00.123456Z",
		"2026-02-13T10:00:00.123456+05:30": "2026-02-13T04:30:00.123456Z",
		"2026-02-13T10:00:00-08:00":        "2026-02-13T18:00:00.000000Z",
	} {
		var got openintentv1.SendMessageRequest
		require.Empty(t, jsonform.Decode([]byte(`{"expires_at":"`+text+`"}`), &got, jsonform.Options{}), text)
		require.Equal(t, want, got.GetExpiresAt().AsTime().Format(jsonform.TimeLayout))
	}
}

func TestNullInAFreeValueIsAValue(t *testing.T) {
	var got openintentv1.PatchIntentStateRequest
	require.Empty(t, jsonform.Decode([]byte(`{"patches":[{"op":"set","path":"a","value":null}]}`), &got, jsonform.Options{}))
	requireEqual(t, structpb.NewNullValue(), got.GetPatches()[0].GetValue())
}

func TestDecodeRefusals(t *testing.T) {
	const time = "must be an RFC 3339 time such as 2026-02-13T10:00:00Z."
	tests := []struct {
		name, body string
		into       proto.Message
		want       []fault.Field
	}{
		{"no JSON", `{`, &openintentv1.SendMessageRequest{}, one("body", "the JSON text ends too early.")},
		{"trailing bytes", `{} {}`, &openintentv1.SendMessageRequest{},
			one("body", `not JSON: the character '{' at byte 3 is not expected there.`)},
		{"a list", `[]`, &openintentv1.SendMessageRequest{}, one("body", "must be a JSON object.")},
		{"null", `null`, &openintentv1.SendMessageRequest{}, one("body", "must be a JSON object.")},
		{"a key twice", `{"to":"a","to":"b"}`, &openintentv1.SendMessageRequest{},
			one("body", `the key "to" appears twice in one object; a key may appear only once.`)},
		{"a key twice deep down", `{"payload":{"a":[{"b":1,"\u0062":2}]}}`, &openintentv1.SendMessageRequest{},
			one("payload.a[0]", `the key "b" appears twice in one object; a key may appear only once.`)},
		{"a large integer", `{"payload":{"n":9007199254740993}}`, &openintentv1.SendMessageRequest{},
			one("payload.n", "an integer must lie within ±(2^53−1), or it would be rounded; send a larger one as a string.")},
		{"an unknown field", `{"Payload":{},"to":"a","x":1}`, &openintentv1.SendMessageRequest{}, []fault.Field{
			{Path: "Payload", Description: "is not a field of this request."},
			{Path: "x", Description: "is not a field of this request."}}},
		{"camel case", `{"messageType":"request"}`, &openintentv1.SendMessageRequest{},
			one("messageType", "is not a field of this request.")},
		{"unknown, nested", `{"options":{"ttl":1}}`, &openintentv1.CreateChannelRequest{},
			one("options.ttl", "is not a field of this request.")},
		{"text as a number", `{"to":1}`, &openintentv1.SendMessageRequest{}, one("to", "must be text in quotes.")},
		{"a number as text", `{"timeout_seconds":"30"}`, &openintentv1.AskRequest{},
			one("timeout_seconds", "must be a number, without quotes.")},
		{"an integer with a point", `{"options":{"ttl_seconds":1.0}}`, &openintentv1.CreateChannelRequest{},
			one("options.ttl_seconds", "must be an integer, without a point or an exponent.")},
		{"an integer with an exponent", `{"min_responses":1e1}`, &openintentv1.AskAllRequest{},
			one("min_responses", "must be an integer, without a point or an exponent.")},
		{"an integer out of range", `{"min_responses":2147483648}`, &openintentv1.AskAllRequest{},
			one("min_responses", "must be an integer from -2147483648 to 2147483647.")},
		{"a flag as text", `{"options":{"audit":"true"}}`, &openintentv1.CreateChannelRequest{},
			one("options.audit", "must be true or false.")},
		{"an unknown word", `{"message_type":"Request"}`, &openintentv1.SendMessageRequest{},
			one("message_type", `must be one of "request", "response", "notify", "broadcast".`)},
		{"an enum's full name", `{"message_type":"MESSAGE_TYPE_REQUEST"}`, &openintentv1.SendMessageRequest{},
			one("message_type", `must be one of "request", "response", "notify", "broadcast".`)},
		{"an enum's number", `{"message_type":1}`, &openintentv1.SendMessageRequest{},
			one("message_type", `must be one of "request", "response", "notify", "broadcast".`)},
		{"the zero value's word", `{"message_type":"unspecified"}`, &openintentv1.SendMessageRequest{},
			one("message_type", `must be one of "request", "response", "notify", "broadcast".`)},
		{"paused", `{"status":"paused"}`, &openintentv1.UpdateAgentStatusRequest{}, one("status",
			`must be one of "registering", "active", "draining", "unhealthy", "dead", "deregistered".`)},
		{"a payload that is a list", `{"payload":[]}`, &openintentv1.SendMessageRequest{},
			one("payload", "must be a JSON object.")},
		{"a message that is text", `{"options":"x"}`, &openintentv1.CreateChannelRequest{},
			one("options", "must be a JSON object.")},
		{"a list that is text", `{"members":"a"}`, &openintentv1.CreateChannelRequest{}, one("members", "must be a list.")},
		{"bad elements", `{"members":["a",1,null,"b",{}]}`, &openintentv1.CreateChannelRequest{}, []fault.Field{
			{Path: "members[1]", Description: "must be text in quotes."},
			{Path: "members[2]", Description: "must be text in quotes."},
			{Path: "members[4]", Description: "must be text in quotes."}}},
		{"bad members of elements", `{"entries":[{"principal_id":"a"},{"permission":"all","x":1}]}`,
			&openintentv1.SetAccessControlRequest{}, []fault.Field{
				{Path: "entries[1].permission", Description: `must be one of "read", "write", "admin".`},
				{Path: "entries[1].x", Description: "is not a field of this request."}}},
		{"a time as a number", `{"expires_at":1}`, &openintentv1.SendMessageRequest{}, one("expires_at", time)},
		{"a date", `{"expires_at":"2026-02-13"}`, &openintentv1.SendMessageRequest{}, one("expires_at", time)},
		{"the 30th of February", `{"expires_at":"2026-02-30T00:00:00Z"}`, &openintentv1.SendMessageRequest{},
			one("expires_at", time)},
		{"the year 0", `{"expires_at":"0000-01-01T00:00:00Z"}`, &openintentv1.SendMessageRequest{}, one("expires_at", time)},
		{"beyond the year 9999", `{"expires_at":"9999-12-31T23:59:59-01:00"}`, &openintentv1.SendMessageRequest{},
			one("expires_at", time)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, jsonform.Decode([]byte(test.body), test.into, jsonform.Options{}))
		})
	}
}

func TestDecodeNamesOnlySoManyFields(t *testing.T) {
	body := "{" + strings.Repeat(`"`+strings.Repeat("x", 100)+`":1,`, 0)
	for i := range 100 {
		body += `"` + strings.Repeat("é", 50) + strings.Repeat("y", i) + `":1,`
	}
	fields := jsonform.Decode([]byte(strings.TrimSuffix(body, ",")+"}"), &openintentv1.AskRequest{}, jsonform.Options{})
	require.Len(t, fields, 20)
	require.Equal(t, strings.Repeat("é", 32)+"…", fields[0].Path, "a long name is cut between characters")
}

func TestUnknownFieldsAreIgnoredOnDemand(t *testing.T) {
	var got openintentv1.CreateChannelRequest
	options := jsonform.Options{IgnoreUnknown: true}
	require.Empty(t, jsonform.Decode([]byte(`{"name":"n","x":{"y":1},"options":{"z":[]}}`), &got, options))
	requireEqual(t, &openintentv1.CreateChannelRequest{Name: "n", Options: &openintentv1.ChannelOptions{}}, &got)
	require.NotEmpty(t, jsonform.Decode([]byte(`{"name":1}`), &got, options), "known fields stay strict")
	require.NotEmpty(t, jsonform.Decode([]byte(`{"x":1,"x":2}`), &got, options), "JSON stays strict")
}

func TestParseValue(t *testing.T) {
	fields := (&openintentv1.ListEventsRequest{}).ProtoReflect().Descriptor().Fields()
	field := func(name protoreflect.Name) protoreflect.FieldDescriptor { return fields.ByName(name) }

	value, problem := jsonform.ParseValue(field("limit"), "7")
	require.Empty(t, problem)
	require.EqualValues(t, 7, value.Int())
	value, problem = jsonform.ParseValue(field("event_type"), "1 <é>")
	require.Empty(t, problem)
	require.Equal(t, "1 <é>", value.String())
	value, problem = jsonform.ParseValue(field("since"), "2026-02-13T11:00:00+01:00")
	require.Empty(t, problem)
	requireEqual(t, &timestamppb.Timestamp{Seconds: 1770976800}, value.Message().Interface())

	for name, text := range map[protoreflect.Name]string{"limit": "", "after_sequence": "1.5", "since": "yesterday"} {
		_, problem := jsonform.ParseValue(field(name), text)
		require.NotEmpty(t, problem, name)
	}
	wait := (&openintentv1.AwaitResponsesRequest{}).ProtoReflect().Descriptor().Fields().ByName("wait_seconds")
	value, problem = jsonform.ParseValue(wait, "0.5")
	require.Empty(t, problem)
	require.InDelta(t, 0.5, value.Float(), 0)
	for _, text := range []string{"NaN", "Inf", "1e999", "x", ""} {
		_, problem := jsonform.ParseValue(wait, text)
		require.NotEmpty(t, problem, text)
	}
}

func one(path, description string) []fault.Field {
	return []fault.Field{{Path: path, Description: description}}
}

func requireEqual(t testing.TB, want, got proto.Message) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v\n got %v", want, got)
}
