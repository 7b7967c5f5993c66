package repomesh

import (
	"encoding/json"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// base is where the door is.
const base = "/v1/repomesh"

// object is a JSON object whose form a test does not spell out.
type object = map[string]any

// house is a server with a clock that the test can put forward.
type house struct {
	*harness.Server
	ahead *atomic.Int64
}

// each runs a test on each engine.
func each(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, at string) {
		ahead := &atomic.Int64{}
		test(t, &house{harness.Start(t, harness.Options{URL: at, Configure: func(cfg *server.Config) {
			cfg.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		}}), ahead})
	})
}

// advance puts the server's clock forward.
func (h *house) advance(by time.Duration) { h.ahead.Add(int64(by)) }

// agent is an agent that speaks RepoMesh's protocol over REST.
type agent struct{ *harness.Caller }

func (h *house) agent(name string) agent { return agent{h.As(name)} }

// does makes a call that must succeed.
func (a agent) does(t *testing.T, method, path string, body object) (answer object) {
	t.Helper()
	made := a.REST(t, method, base+path, written(t, body))
	require.Contains(t, []int{http.StatusOK, http.StatusCreated}, made.Status, "%s %s: %s", method, path, made.Body)
	made.Decode(t, &answer)
	return answer
}

// refused makes a call that must be refused, and returns what the protocol's error says.
func (a agent) refused(t *testing.T, status int, method, path string, body object) object {
	t.Helper()
	made := a.REST(t, method, base+path, written(t, body))
	require.Equal(t, status, made.Status, "%s %s: %s", method, path, made.Body)
	var said struct {
		Type, Severity string
		Payload        object
	}
	made.Decode(t, &said)
	require.Equal(t, []string{"agent.error", "error"}, []string{said.Type, said.Severity})
	require.NotEmpty(t, said.Payload["error_code"])
	require.NotEmpty(t, said.Payload["reason"])
	require.NotEmpty(t, said.Payload["message"])
	return said.Payload
}

// says logs an event and returns its id.
func (a agent) says(t *testing.T, name string, payload object) string {
	t.Helper()
	return a.logs(t, object{"type": name, "payload": payload})["id"].(string)
}

// logs logs an event.
func (a agent) logs(t *testing.T, event object) object {
	t.Helper()
	return a.does(t, "POST", "/events", event)
}

// events lists events: path is that of a list with its query.
func (a agent) events(t *testing.T, path string) []object {
	t.Helper()
	return items(t, a.does(t, "GET", path, nil), "events")
}

// ids returns the ids of events, in their order.
func ids(events []object) (all []string) {
	for _, e := range events {
		all = append(all, e["id"].(string))
	}
	return all
}

// typed returns those of a type.
func typed(events []object, name string) (some []object) {
	for _, e := range events {
		if e["type"] == name {
			some = append(some, e)
		}
	}
	return some
}

// items returns a list of objects in an answer.
func items(t *testing.T, answer object, name string) (all []object) {
	t.Helper()
	listed, isList := answer[name].([]any)
	require.True(t, isList, "%v", answer)
	for _, item := range listed {
		all = append(all, item.(object))
	}
	return all
}

func payload(e object) object { return e["payload"].(object) }

func written(t *testing.T, body object) string {
	t.Helper()
	if body == nil {
		return ""
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return string(text)
}

// query writes a query of names and values.
func query(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return "?" + values.Encode()
}

// model is an agent that has the door's actions as tools.
type model struct{ *sdk.ClientSession }

func (h *house) model(t *testing.T, name string) model {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.BaseURL() + "/mcp?tools=repomesh", HTTPClient: h.As(name).HTTPClient(),
		DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return model{session}
}

// calls calls a tool and returns its answer.
func (m model) calls(t *testing.T, tool string, given object) (answer object, refused bool) {
	t.Helper()
	result, err := m.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
	require.NoError(t, err)
	require.Len(t, result.Content, 1)
	require.NoError(t, json.Unmarshal([]byte(result.Content[0].(*sdk.TextContent).Text), &answer))
	return answer, result.IsError
}

// jsonOf reads an object.
func jsonOf(t *testing.T, text string) (made object) {
	t.Helper()
	if text != "" {
		require.NoError(t, json.Unmarshal([]byte(text), &made))
	}
	return made
}
