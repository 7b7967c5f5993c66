package strangers

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// listTools is a request that the door for MCP answers to whoever may come in.
const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// doorRequest is a request that somebody sends to the door for MCP.
type doorRequest struct {
	what, key, agent string
	method, path     string // POST /mcp when empty
	body             string // listTools when empty
	host             string
	headers          []string // pairs of names and values
	status           int
	reason           string // empty when the protocol itself refuses
}

// atTheDoor sends a request to the door and returns the answer.
func (w *world) atTheDoor(t *testing.T, r doorRequest) harness.Answer {
	t.Helper()
	method, path, body := "POST", "/mcp", listTools
	if r.method != "" {
		method = r.method
	}
	if r.path != "" {
		path = r.path
	}
	if r.body != "" {
		body = r.body
	}
	request, err := w.With(r.key, r.agent).Request(t.Context(), method, path, body)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Host = r.host
	for i := 0; i < len(r.headers); i += 2 {
		request.Header.Set(r.headers[i], r.headers[i+1])
	}
	response, err := w.HTTP.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return harness.Answer{Status: response.StatusCode, Header: response.Header, Body: text}
}

// These callers may not come in, whatever they ask for.
func TestStrangersAtTheDoor(t *testing.T) {
	requests := []doorRequest{
		{what: "no key", agent: "alice", status: 401, reason: "API_KEY_MISSING"},
		{what: "an unknown key", key: "nope", agent: "alice", status: 401, reason: "API_KEY_UNKNOWN"},
		{what: "an enormous key", key: strings.Repeat("k", 60_000), agent: "alice", status: 401, reason: "API_KEY_UNKNOWN"},
		{what: "two keys", key: harness.Key, agent: "alice", headers: []string{"Authorization", "Bearer other"}, status: 401, reason: "API_KEYS_DIFFER"},
		{what: "another's name", key: harness.BoundKey, agent: "alice", status: 403, reason: "AGENT_NOT_ALLOWED"},
		{what: "the server's name", key: harness.Key, agent: "system", status: 403, reason: "AGENT_RESERVED"},
		{what: "a role's name", key: harness.Key, agent: "role:reviewer", status: 403, reason: "AGENT_RESERVED"},
		{what: "a name with a slash", key: harness.Key, agent: "a/b", status: 400, reason: "INVALID_FIELD"},
		{what: "the nameless operator", key: harness.Key, status: 403, reason: "AGENT_NEEDED"},
		{what: "a page of another origin", key: harness.Key, agent: "alice", headers: []string{"Origin", "https://evil.example"}, status: 403, reason: "ORIGIN_NOT_ALLOWED"},
		{what: "a page without an origin", key: harness.Key, agent: "alice", headers: []string{"Origin", "null"}, status: 403, reason: "ORIGIN_NOT_ALLOWED"},
		{what: "another origin and no key", headers: []string{"Origin", "https://evil.example"}, status: 403, reason: "ORIGIN_NOT_ALLOWED"},
		{what: "another's host", key: harness.Key, agent: "alice", host: "evil.example", status: 403, reason: "HOST_NOT_ALLOWED"},
		{what: "an unknown profile", key: harness.Key, agent: "alice", path: "/mcp?tools=everything", status: 400, reason: "PROFILE_UNKNOWN"},
		{what: "two profiles", key: harness.Key, agent: "alice", path: "/mcp?tools=&tools=x", status: 400, reason: "PROFILE_UNKNOWN"},
		{what: "an unknown profile and no key", agent: "alice", path: "/mcp?tools=everything", status: 401, reason: "API_KEY_MISSING"},
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		before := w.ledger(t)
		for _, r := range requests {
			t.Run(r.what, func(t *testing.T) {
				for _, method := range []string{"POST", "GET", "DELETE"} {
					r.method = method
					for _, body := range []string{listTools, "not even JSON"} {
						r.body = body
						r.check(t, w.atTheDoor(t, r))
					}
				}
			})
		}
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

// check compares a refusal at the door with what is documented.
func (r doorRequest) check(t *testing.T, answer harness.Answer) {
	t.Helper()
	body := string(answer.Body)
	require.Equal(t, r.status, answer.Status, body)
	if r.reason != "" {
		require.Contains(t, body, `"`+r.reason+`"`)
	}
	if r.status == http.StatusUnauthorized {
		require.NotEmpty(t, answer.Header.Get("WWW-Authenticate"))
	}
	if r.key != "" {
		require.NotContains(t, body, r.key)
	}
	leaksNothing(t, r.status, body)
}

// malformed are bodies that are no request of the protocol.
func malformed() map[string]string {
	call := func(tool, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	}
	return map[string]string{
		"nothing": " ", "words": "hello", "half an object": `{"jsonrpc":"2.0","id":1,"method":"to`,
		"an empty batch": "[]", "a batch": "[" + listTools + "," + listTools + "]", "a deep batch": strings.Repeat("[", 100_000),
		"deep JSON":      `{"a":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_001),
		"deep arguments": call("whoami", strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)),
		"null":           "null", "a number": "1", "no version": `{"id":1,"method":"tools/list"}`,
		"another version": `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, "no method": `{"jsonrpc":"2.0","id":1}`,
		"a number for the method": `{"jsonrpc":"2.0","id":1,"method":5}`, "an object for the id": `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"a list for the parameters": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		"no method that there is":   `{"jsonrpc":"2.0","id":1,"method":"tools/steal"}`,
		"a long method":             `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 5000) + `"}`,
		"a response":                `{"jsonrpc":"2.0","id":1,"result":{}}`, "a notification": `{"jsonrpc":"2.0","method":"notifications/x"}`,
		"no tool that there is": call("steal", "{}"), "a long tool": call(strings.Repeat("t", 5000), "{}"),
		"a list for the arguments": call("whoami", "[]"), "an argument too many": call("whoami", `{"agent":"bob"}`),
		"a name for the caller": call("send", `{"channel":"{room}","text":"x","from":"bob"}`),
		"a null byte":           "{}\x00", "a byte order mark": "\ufeff" + listTools, "invalid UTF-8": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"a key twice": `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`,
	}
}

// These frames are no requests of the protocol, or ask for what there is not. Nothing may come of them but a refusal.
func TestMalformedFramesAtTheDoor(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		before := w.ledger(t)
		for what, body := range malformed() {
			t.Run(what, func(t *testing.T) {
				for _, revision := range []string{"", "2025-11-25", "2026-07-28", "1999-01-01", strings.Repeat("9", 10_000)} {
					r := doorRequest{key: harness.Key, agent: "alice", body: w.fill(body)}
					if revision != "" {
						r.headers = []string{"Mcp-Protocol-Version", revision}
					}
					answer := w.atTheDoor(t, r)
					require.Less(t, answer.Status, 500, "%s", answer.Body)
					require.NotContains(t, string(answer.Body), `"tools":[`)
					leaksNothing(t, answer.Status, string(answer.Body))
				}
			})
		}
		require.Equal(t, before, w.ledger(t), "a refused frame was written")
		w.goesOn(t)
	})
}

// These requests are not what the transport takes.
func TestWrongRequestsAtTheDoor(t *testing.T) {
	databasetest.OneEngineOf(t)
	requests := []doorRequest{
		{what: "more than a body may have", body: `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 10<<20) + `"}`, status: 413, reason: "BODY_TOO_LARGE"},
		{what: "reading a stream", method: "GET", status: 405},
		{what: "ending a session", method: "DELETE", status: 405},
		{what: "another method", method: "PUT", status: 405},
		{what: "several requests", body: " \n[" + listTools + "]", status: 400, reason: "BATCH_NOT_ALLOWED"},
		{what: "a form", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415},
		{what: "no kind of answer that there is", headers: []string{"Accept", "text/html"}, status: 400},
		{what: "a compressed body", headers: []string{"Content-Encoding", "gzip"}, body: "\x1f\x8b\x08", status: 400},
		{what: "a session that nobody began", headers: []string{"Mcp-Session-Id", "stolen"}, status: 200},
		{what: "a path below the door", path: "/mcp/tools", status: 404, reason: "ROUTE_NOT_FOUND"},
		{what: "the door in capitals", path: "/MCP", status: 404, reason: "ROUTE_NOT_FOUND"},
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		for _, r := range requests {
			t.Run(r.what, func(t *testing.T) {
				r.key, r.agent = harness.Key, "alice"
				answer := w.atTheDoor(t, r)
				require.Equal(t, r.status, answer.Status, "%s", answer.Body)
				if r.status != http.StatusOK {
					r.check(t, answer)
				}
			})
		}
		w.goesOn(t)
	})
}
