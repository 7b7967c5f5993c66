package doors

import (
	"encoding/json"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// object is a value whose form a test does not spell out.
type object = map[string]any

// members are the agents that the intent is open to.
var members = []string{"mia", "carl", "remy", "release-bot"}

// house is a server whose mesh is an intent of the lead's, which is closed to all but its members.
type house struct {
	*harness.Server
	intent string
	// channel is the channel's id, and url its address as an agent channel.
	channel, url string
}

// each runs a test on each engine, with a channel of the name release.
func each(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, at string) {
		before := harness.Start(t, harness.Options{URL: at})
		intent := made(t, before.As("lead"), "/v1/intents", `{"title": "Release 1.4", "default_policy": "closed"}`)
		id := text(t, intent, "id")
		for _, member := range members {
			made(t, before.As("lead"), "/v1/intents/"+id+"/agents", `{"agent_id": "`+member+`"}`)
		}
		require.NoError(t, before.Stop())

		h := &house{intent: id, Server: harness.Start(t, harness.Options{URL: at, Configure: func(cfg *server.Config) {
			cfg.RepomeshIntent = id // as OPENINTENT_REPOMESH_INTENT does
		}})}
		opened := made(t, h.As("lead"), "/agent-channel", `{"title": "release", "intent_id": "`+id+`"}`)
		h.channel, h.url = text(t, opened, "channel_id"), text(t, opened, "url")
		test(t, h)
	})
}

// made makes something over REST, and returns the answer.
func made(t *testing.T, caller *harness.Caller, path, body string) (answer object) {
	t.Helper()
	got := caller.REST(t, "POST", path, body)
	require.Equal(t, 201, got.Status, "%s: %s", path, got.Body)
	got.Decode(t, &answer)
	return answer
}

// model is an agent whose harness speaks MCP, with the tools of one profile.
type model struct{ *sdk.ClientSession }

// model connects an agent at a path of the door for MCP.
func (h *house) model(t *testing.T, path string, caller *harness.Caller) model {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.BaseURL() + path, HTTPClient: caller.HTTPClient(), DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return model{session}
}

// try calls a tool and returns what the model sees.
func (m model) try(t *testing.T, tool string, given object) (answer object, seen string, refused bool) {
	t.Helper()
	result, err := m.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
	require.NoError(t, err, "%s %v", tool, given)
	require.Len(t, result.Content, 1)
	seen = result.Content[0].(*sdk.TextContent).Text
	require.NoError(t, json.Unmarshal([]byte(seen), &answer), seen)
	return answer, seen, result.IsError
}

// call calls a tool that must succeed.
func (m model) call(t *testing.T, tool string, given object) (answer object, seen string) {
	t.Helper()
	answer, seen, refused := m.try(t, tool, given)
	require.False(t, refused, "%s %v: %s", tool, given, seen)
	return answer, seen
}

// refused calls a tool that must be refused, and returns the reason and what the model sees.
func (m model) refused(t *testing.T, tool string, given object) (reason, seen string) {
	t.Helper()
	answer, seen, refused := m.try(t, tool, given)
	require.True(t, refused, "%s %v: %s", tool, given, seen)
	if inEvent, isEvent := answer["payload"].(object); isEvent { // in RepoMesh's form
		answer = object{"refused": inEvent["reason"]}
	}
	return text(t, answer, "refused"), seen
}

// guest is somebody who was given a URL, and has a shell.
type guest struct{ url string }

// invited returns a guest of the channel.
func (h *house) invited(t *testing.T) guest {
	t.Helper()
	return guest{text(t, made(t, h.As("lead"), h.url[len(h.BaseURL()):]+"/invite", `{"agent": "guest-gil"}`), "url")}
}

// does runs the guest's script, and returns what it prints.
func (g guest) does(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := exec.Command("./guest.sh", append([]string{g.url}, arguments...)...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}

// list returns a list of objects in an answer.
func list(t *testing.T, answer object, name string) (items []object) {
	t.Helper()
	found, isList := answer[name].([]any)
	require.True(t, isList, "%s of %v", name, answer)
	for _, item := range found {
		items = append(items, item.(object))
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
