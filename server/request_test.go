package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestQueriesBecomeFields(t *testing.T) {
	r := newREST(t)
	r.gives(listMessages, &openintentv1.ListMessagesResponse{})
	got := r.call(t, "GET", "/v1/channels/c/messages?message_type=message&limit=5&to=a+b&correlation_id=%C3%A9", "")
	require.Equal(t, 200, got.status, got.body)
	require.True(t, proto.Equal(&openintentv1.ListMessagesRequest{
		ChannelId: "c", MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Limit: proto.Int32(5),
		To: proto.String("a b"), CorrelationId: proto.String("é"),
	}, r.received()))

	r.gives(openintentv1.AgentService_ListAgents_FullMethodName, &openintentv1.ListAgentsResponse{})
	got = r.call(t, "GET", "/v1/agents?capabilities=a,b&capabilities=c&status=dead", "")
	require.Equal(t, 200, got.status, got.body)
	require.True(t, proto.Equal(&openintentv1.ListAgentsRequest{
		Capabilities: []string{"a", "b", "c"}, Status: openintentv1.AgentStatus_AGENT_STATUS_DEAD.Enum(),
	}, r.received()))

	r.gives(listEvents, &openintentv1.ListEventsResponse{})
	got = r.call(t, "GET", "/v1/intents/i/events?since=2026-02-13T11:00:00+01:00&order=asc", "")
	require.Equal(t, 200, got.status, got.body)
	require.True(t, proto.Equal(&timestamppb.Timestamp{Seconds: 1770976800}, r.received().(*openintentv1.ListEventsRequest).GetSince()))
}

func TestBadQueriesAreRefusedByName(t *testing.T) {
	r := newREST(t)
	for _, test := range []struct{ verb, path, field, description string }{
		{"GET", "/v1/channels/c/messages?Limit=1", "Limit", "is not a query parameter of this path."},
		{"GET", "/v1/channels/c/messages?channel_id=d", "channel_id", "is not a query parameter of this path."},
		{"GET", "/v1/channels/c?x=1", "x", "is not a query parameter of this path."},
		{"POST", "/v1/channels/c/messages?sender=a", "sender", "is not a query parameter of this path."},
		{"PATCH", "/v1/channels/c?update_mask=members", "update_mask", "is not a query parameter of this path."},
		{"DELETE", "/v1/channels/c?force=1", "force", "is not a query parameter of this path."},
		{"GET", "/v1/subscribe/channels/c?since=1", "since", "is not a query parameter of this path."},
		{"GET", "/v1/channels/c/messages?limit=x", "limit", "must be an integer, without a point or an exponent."},
		{"GET", "/v1/channels/c/messages?limit=", "limit", "must be an integer, without a point or an exponent."},
		{"GET", "/v1/channels/c/messages?limit=1&limit=2", "limit", "may be given once only."},
		{"GET", "/v1/channels/c/messages?message_type=Request", "message_type",
			`must be one of "request", "response", "notify", "broadcast".`},
		{"GET", "/v1/intents/i/events?since=now", "since", "must be an RFC 3339 time such as 2026-02-13T10:00:00Z."},
		{"GET", "/v1/channels/c/messages?to=%00", "to", "may not contain U+0000."},
		{"GET", "/v1/channels/c/messages?to=%FF", "to", "must be UTF-8 under its escapes."},
		{"GET", "/v1/channels/c/messages?a=%zz", "query", "is malformed: keys and values must be percent-encoded and separated by &."},
		{"GET", "/v1/channels/%00", "channel_id", "may not contain U+0000."},
		{"GET", "/v1/channels/%FF", "channel_id", "must be UTF-8 under its escapes."},
	} {
		problem := problemOf(t, r.call(t, test.verb, test.path, ""), 400)
		require.Equal(t, map[string]string{test.field: test.description}, badFields(problem), test.path)
		require.Equal(t, "INVALID_FIELD", problem["reason"])
		require.Equal(t, "INVALID_ARGUMENT", problem["code"])
		require.Equal(t, test.field+": "+test.description, problem["message"])
	}
	require.Nil(t, r.received())
}

func TestPathParametersAreUnescapedOnce(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.AgentService_GetAgent_FullMethodName, &openintentv1.Agent{})
	for escaped, want := range map[string]string{
		"a%25b": "a%b", "a%2541": "a%41", "a+b": "a+b", "%C3%A9": "é", "a:b@c": "a:b@c", "a%3Fb": "a?b", "a%2Fb": "a/b",
	} {
		got := r.call(t, "GET", "/api/v1/agents/"+escaped, "")
		require.Equal(t, 200, got.status, got.body)
		require.Equal(t, want, r.received().(*openintentv1.GetAgentRequest).GetAgentId())
	}
}

func TestBodiesAreDecodedStrictly(t *testing.T) {
	r := newREST(t)
	for body, field := range map[string]string{
		`{`: "body", `{}{}`: "body", `[]`: "body", `{"payload":{"a":1,"a":2}}`: "payload", `{"payload":{},"to":1}`: "to",
		`{"payload":{},"unknown":1}`: "unknown", `{"payload":{},"message_type":"x"}`: "message_type", ``: "payload", `{}`: "payload",
		`{"payload":null}`: "payload", `{"payload":{},"channel_id":"other"}`: "channel_id",
		`{"payload":{"deep":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}}`: "payload.deep" + strings.Repeat("[0]", 62),
	} {
		problem := problemOf(t, r.call(t, "POST", "/v1/channels/c/messages", body), 400)
		require.Contains(t, badFields(problem), field, body)
	}
	require.Nil(t, r.received())

	r.gives(sendMessage, &openintentv1.Message{})
	got := r.call(t, "POST", "/v1/channels/c/messages", `{"payload":{},"channel_id":"c"}`)
	require.Equal(t, 201, got.status, "a path field repeated with the same value is fine: %s", got.body)
}

func TestBodiesOverTheBound(t *testing.T) {
	r := newREST(t)
	large := `{"payload":{"x":"` + strings.Repeat("x", 5000) + `"}}`
	problem := problemOf(t, r.call(t, "POST", "/v1/channels/c/messages", large), 413)
	require.Equal(t, "BODY_TOO_LARGE", problem["reason"])
	require.Equal(t, "RESOURCE_EXHAUSTED", problem["code"])

	// This body has no Content-Length.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/channels/c/messages", unsized{strings.NewReader(large)})
	require.NoError(t, err)
	request.Header.Set("X-API-Key", "open")
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 413, response.StatusCode)
	require.Nil(t, r.received())
}

// A client that writes its whole request before it reads must see the refusal, and its connection stays usable.
func TestABodyOverTheBoundIsTakenBeforeItIsRefused(t *testing.T) {
	r := newREST(t)
	body := strings.Repeat("x", 1<<20) // more than net/http itself would read
	for name, framed := range map[string]string{
		"sized":   fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			connection, answers := r.connect(t)
			head := "POST /v1/channels/c/messages HTTP/1.1\r\nHost: h\r\nX-API-Key: open\r\n"
			for range 2 {
				_, err := io.WriteString(connection, head+framed)
				require.NoError(t, err)
				response, err := http.ReadResponse(answers, nil)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, 413, response.StatusCode)
				require.False(t, response.Close, "the rest of the body does not block the connection")
			}
		})
	}
}

func TestOnlySoMuchOfABodyOverTheBoundIsTaken(t *testing.T) {
	r := newREST(t)
	connection, answers := r.connect(t)
	head := "POST /v1/channels/c/messages HTTP/1.1\r\nHost: h\r\nX-API-Key: open\r\n"
	_, err := io.WriteString(connection, head+"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 413, response.StatusCode, "a client that asks first is refused before it sends the body")

	taken := &endless{}
	drain(http.NewResponseController(httptest.NewRecorder()), taken)
	require.GreaterOrEqual(t, taken.bytes, drainBytes)
	require.Less(t, taken.bytes, drainBytes+1<<16)
}

// connect opens a connection to write requests to as text.
func (r *rest) connect(t *testing.T) (net.Conn, *bufio.Reader) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	return connection, bufio.NewReader(connection)
}

// endless is a body without an end; it counts how much of it was read.
type endless struct{ bytes int }

func (e *endless) Read(into []byte) (int, error) {
	e.bytes += len(into)
	return len(into), nil
}

// unsized hides a reader's length.
type unsized struct{ reader *strings.Reader }

func (u unsized) Read(into []byte) (int, error) { return u.reader.Read(into) }

func TestUpdatesNameWhatChanges(t *testing.T) {
	r := newREST(t)
	r.gives(updateChannel, &openintentv1.Channel{})
	for body, paths := range map[string][]string{
		`{"status":"closed"}`:                                   {"status"},
		`{"id":"c","status":"closed"}`:                          {"status"},
		`{"options":{"ttl_seconds":null},"members":[]}`:         {"members", "options.ttl_seconds"},
		`{"options":null}`:                                      {"options"},
		`{"options":{},"member_policy":"open"}`:                 {"member_policy"},
		`{"members":["a"],"options":{"audit":true}, "id":null}`: {"members", "options.audit"},
		`{"name":"n"}`:                                          {"name"},
	} {
		got := r.call(t, "PATCH", "/v1/channels/c", body)
		require.Equal(t, 200, got.status, got.body)
		received := r.received().(*openintentv1.UpdateChannelRequest)
		require.Equal(t, "c", received.GetChannel().GetId())
		require.True(t, proto.Equal(&fieldmaskpb.FieldMask{Paths: paths}, received.GetUpdateMask()), "%s: %v", body, received.GetUpdateMask())
	}
	got := r.call(t, "PATCH", "/v1/channels/c", `{"unknown":1,"options":{"unknown":2},"member_policy":"explicit"}`, "X-API-Key", "old")
	require.Equal(t, 200, got.status, got.body)
	require.Equal(t, []string{"member_policy"}, r.received().(*openintentv1.UpdateChannelRequest).GetUpdateMask().GetPaths())

	for body, reason := range map[string]string{
		``: "NOTHING_TO_CHANGE", `{}`: "NOTHING_TO_CHANGE", ` `: "NOTHING_TO_CHANGE", `{"id":"c"}`: "NOTHING_TO_CHANGE",
		`{"options":{}}`: "NOTHING_TO_CHANGE", `[]`: "INVALID_FIELD", `{"members":null}`: "INVALID_FIELD", `{"x":1}`: "INVALID_FIELD", `{"id":"d"}`: "INVALID_FIELD",
		`{"status":"Closed"}`: "INVALID_FIELD", `{"options":{"audit":1}}`: "INVALID_FIELD",
	} {
		require.Equal(t, reason, problemOf(t, r.call(t, "PATCH", "/v1/channels/c", body), 400)["reason"], body)
	}
}

func TestWhatTheServiceGaveCannotBeChangedByTheRequest(t *testing.T) {
	r := newREST(t)
	payload, err := structpb.NewStruct(map[string]any{"n": 1.0, "html": "<b>&", "list": []any{nil, true}})
	require.NoError(t, err)
	r.does(sendMessage, func(_ context.Context, request proto.Message) (proto.Message, error) {
		return &openintentv1.Message{Payload: request.(*openintentv1.SendMessageRequest).GetPayload()}, nil
	})
	got := r.call(t, "POST", "/v1/channels/c/messages", `{"payload":{"n":1.0,"html":"<b>&","list":[null,true]}}`)
	require.Equal(t, 201, got.status)
	require.Contains(t, got.body, `"payload":{"html":"<b>&","list":[null,true],"n":1}`)
	require.True(t, proto.Equal(payload, r.received().(*openintentv1.SendMessageRequest).GetPayload()))
}

func TestACompressedBodyIsRefused(t *testing.T) {
	r := newREST(t)
	for encoding, reason := range map[string]string{"gzip": "BODY_ENCODED", "br": "BODY_ENCODED", "identity": "API_KEY_MISSING"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/intents", strings.NewReader("\x1f\x8b"))
		require.NoError(t, err)
		request.Header.Set("Content-Encoding", encoding)
		if encoding != "identity" {
			request.Header.Set("X-API-Key", "open")
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Contains(t, string(text), `"reason":"`+reason+`"`)
	}
}

func TestBodiesAreCountedWhileTheyArrive(t *testing.T) {
	counted := newMemory(0)
	counted.share = 10
	held := keptBody{account: counted.account("k")}
	_, err := io.ReadAll(held.reader(strings.NewReader("0123456789")))
	require.NoError(t, err)
	other := keptBody{account: counted.account("k")}
	_, err = io.ReadAll(other.reader(strings.NewReader("0")))
	require.ErrorIs(t, incompleteBody(err), errRequestsHeld)
	other.release()
	held.release()
	require.Zero(t, counted.total.requests.Load())
}
