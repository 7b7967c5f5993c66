package described

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// message is what GetMessage answers.
const message = `{"id":"msg_1","channel_id":"chan_1","sender":"alice","to":null,"message_type":"notify","correlation_id":null,"payload":{},
	"metadata":{},"status":"delivered","created_at":"2026-02-13T10:00:00.000000Z","expires_at":null,"read_at":null}`

const problem = `{"type":"urn:openintent:error:invalid_field","title":"Bad Request","status":400,"detail":"to: is wrong.","code":"INVALID_ARGUMENT",
	"reason":"INVALID_FIELD","error":"invalid_field","message":"to: is wrong.","errors":[{"field":"to","description":"is wrong."}]}`

func written(t *testing.T) *Document {
	document, err := Written()
	require.NoError(t, err)
	return document
}

func answered(verb, path string, status int, body string) Call {
	header := http.Header{"Content-Type": {"application/json"}}
	if status >= 400 {
		header.Set("Content-Type", "application/problem+json")
	}
	return Call{Verb: verb, Path: path, Status: status, Header: header, Body: []byte(body)}
}

// Each planted fault is noticed, and what has none is not.
func TestPlantedFaultsAreNoticed(t *testing.T) {
	document := written(t)
	one, many := "/v1/channels/chan_1/messages/msg_1", "/api/v1/channels/chan_1/messages"
	for _, right := range []Call{
		answered("GET", one, 200, message), answered("GET", many, 200, "["+message+"]"), answered("GET", one, 404, problem),
		answered("DELETE", "/v1/agents/bob", 204, ""), answered("GET", "/v1/repomesh/else", 200, "7"),
	} {
		require.NoError(t, document.Check(right))
	}
	for what, wrong := range map[string]Call{
		"a renamed field":     answered("GET", one, 200, strings.Replace(message, "sender", "from", 1)),
		"a missing field":     answered("GET", one, 200, strings.Replace(message, `"to":null,`, "", 1)),
		"a new field":         answered("GET", one, 200, strings.Replace(message, `"to":null,`, `"to":null,"cc":null,`, 1)),
		"an unknown word":     answered("GET", one, 200, strings.Replace(message, "notify", "notice", 1)),
		"a null":              answered("GET", many, 200, "["+strings.Replace(message, `"payload":{}`, `"payload":null`, 1)+"]"),
		"a text for a number": answered("GET", one, 404, strings.Replace(problem, "400", `"400"`, 1)),
		"no reason":           answered("GET", one, 404, strings.Replace(problem, `"reason":"INVALID_FIELD",`, "", 1)),
		"another status":      answered("GET", one, 201, message),
		"an unexpected body":  answered("DELETE", "/v1/agents/bob", 204, "{}"),
		"an object, not list": answered("GET", many, 200, message),
	} {
		require.Error(t, document.Check(wrong), what)
	}
	plain := answered("GET", one, 404, problem)
	plain.Header.Set("Content-Type", "text/plain")
	require.Error(t, document.Check(plain))
}

// What a document says less than the server does is noticed, too.
func TestAnUntrueDocumentIsNoticed(t *testing.T) {
	text, err := os.ReadFile("../../gen/openapi/openapi.json")
	require.NoError(t, err)
	var api map[string]any
	require.NoError(t, json.Unmarshal(text, &api))
	properties := api["components"].(map[string]any)["schemas"].(map[string]any)["Message"].(map[string]any)["properties"].(map[string]any)
	properties["to"].(map[string]any)["type"] = "string"
	untrue, err := json.Marshal(api)
	require.NoError(t, err)
	document, err := Read(untrue)
	require.NoError(t, err)
	require.Error(t, document.Check(answered("GET", "/v1/channels/c/messages/m", 200, message)), "a null that is not declared")
}

func TestRequestsThatAreAcceptedAreAllowed(t *testing.T) {
	document := written(t)
	call := answered("POST", "/v1/channels/chan_1/messages", 201, message)
	for sent, right := range map[string]bool{
		`{"payload": {}}`: true, `{"payload": {}, "to": null}`: true, `{"payload": {}, "channel_id": "chan_1"}`: true,
		`{"payload": {}, "too": "bob"}`: false, `{}`: false, `{"payload": {}, "to": 7}`: false,
	} {
		call.Sent = []byte(sent)
		require.Equal(t, right, document.Check(call) == nil, sent)
	}
}

func TestEventsAreChecked(t *testing.T) {
	document := written(t)
	placed := strings.TrimSuffix(message, "}") + `,"intent_id":"i","channel_name":"room"}`
	require.NoError(t, document.CheckEvent("/v1/subscribe/channels/chan_1", "channel_message", []byte(placed)))
	require.NoError(t, document.CheckEvent("/v1/subscribe/channels/chan_1", "error", []byte(problem)))
	require.Error(t, document.CheckEvent("/v1/subscribe/channels/chan_1", "channel_message", []byte(message)))
	require.Error(t, document.CheckEvent("/v1/subscribe/channels/chan_1", "status_changed", []byte("{}")), "no logged events here")
	require.Error(t, document.CheckEvent("/v1/subscribe/intents/i", "status_changed", []byte("{}")))
}
