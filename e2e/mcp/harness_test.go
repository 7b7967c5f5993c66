package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The revisions of the protocol whose clients the tests play.
const (
	newest = "2026-07-28"
	older  = "2025-11-25"
)

// each runs a test on each engine.
func each(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	harness.Each(t, func(t *testing.T, s *harness.Server) { test(t, &house{s}) })
}

// house is a server with a door.
type house struct{ *harness.Server }

// agent is an agent's harness that is connected to the door.
type agent struct {
	*sdk.ClientSession
	// direct is the same agent on the server's own faces.
	direct *harness.Caller
}

// join connects an agent with the newest revision and the unbound key.
func (h *house) join(t *testing.T, name string) *agent {
	t.Helper()
	return h.connect(t, harness.Key, name, newest, nil)
}

// stranger connects an agent that nobody on the server knows, with a key of its own.
func (h *house) stranger(t *testing.T) *agent {
	t.Helper()
	return h.connect(t, harness.BoundKey, "", newest, nil)
}

// connect connects a harness with a key and, unless name is empty, as an agent. options may be nil.
func (h *house) connect(t *testing.T, key, name, revision string, options *sdk.ClientOptions) *agent {
	t.Helper()
	return h.connectTo(t, "/mcp", key, name, revision, options)
}

// connectTo does what connect does at the path of a profile.
func (h *house) connectTo(t *testing.T, path, key, name, revision string, options *sdk.ClientOptions) *agent {
	t.Helper()
	direct := h.With(key, name)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.BaseURL() + path, HTTPClient: direct.HTTPClient(), DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	require.Equal(t, revision, session.InitializeResult().ProtocolVersion)
	return &agent{session, direct}
}

// arguments are those of a tool.
type arguments = map[string]any

// object is an answer whose form the test does not spell out.
type object = map[string]any

// call calls a tool that must succeed, and returns its answer, as an object and as the text that the model reads.
func (a *agent) call(t *testing.T, tool string, given arguments) (answer object, text string) {
	t.Helper()
	result, text := a.try(t, tool, given)
	require.False(t, result.IsError, "%s %v: %s", tool, given, text)
	require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
	return answer, text
}

// refusal is what a model sees of a call that was refused.
type refusal struct {
	Refused string            `json:"refused"`
	Message string            `json:"message"`
	Facts   map[string]string `json:"facts"`
}

// refused calls a tool that must be refused, and returns the refusal.
func (a *agent) refused(t *testing.T, tool string, given arguments) refusal {
	t.Helper()
	result, text := a.try(t, tool, given)
	require.True(t, result.IsError, "%s %v: %s", tool, given, text)
	var said refusal
	require.NoError(t, json.Unmarshal([]byte(text), &said), text)
	require.NotEmpty(t, said.Refused)
	require.NotEmpty(t, said.Message)
	return said
}

// try calls a tool and returns what the model sees, which is always one text.
func (a *agent) try(t *testing.T, tool string, given arguments) (result *sdk.CallToolResult, text string) {
	t.Helper()
	result, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
	require.NoError(t, err, "%s %v", tool, given)
	require.Len(t, result.Content, 1)
	content, isText := result.Content[0].(*sdk.TextContent)
	require.True(t, isText)
	return result, content.Text
}

// list returns a list of objects in an answer, and nothing where there is none.
func list(t *testing.T, answer object, name string) (items []object) {
	t.Helper()
	if answer[name] == nil {
		return nil
	}
	found, isList := answer[name].([]any)
	require.True(t, isList, "%v", answer[name])
	for _, item := range found {
		made, isObject := item.(object)
		require.True(t, isObject, "%v", item)
		items = append(items, made)
	}
	return items
}

// text returns a text in an answer.
func text(t *testing.T, answer object, name string) string {
	t.Helper()
	value, isText := answer[name].(string)
	require.True(t, isText, "%s of %v", name, answer)
	return value
}
