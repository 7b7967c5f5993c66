package agentchannel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

const root = "/agent-channel"

type object = map[string]any

// agent is an agent that calls the door.
type agent struct{ *harness.Caller }

// does makes a call that must end with a status, and returns the JSON of the answer.
func (a agent) does(t *testing.T, status int, method, path, body string, headers ...string) (answer object) {
	t.Helper()
	got := a.REST(t, method, root+path, body, headers...)
	require.Equal(t, status, got.Status, "%s %s %s: %s", method, path, body, got.Body)
	got.Decode(t, &answer)
	return answer
}

// refused makes a call that must be refused, and returns the reason.
func (a agent) refused(t *testing.T, status int, method, path, body string, headers ...string) string {
	t.Helper()
	answer := a.does(t, status, method, path, body, headers...)
	require.NotEmpty(t, answer["detail"])
	return text(t, answer, "reason")
}

// open makes a channel and returns its address.
func (a agent) open(t *testing.T, title string) string {
	t.Helper()
	return text(t, a.does(t, 201, "POST", "", `{"title": "`+title+`", "created_by": "somebody"}`), "id")
}

// posts posts an event and returns its id.
func (a agent) posts(t *testing.T, channel, kind, payload string, headers ...string) string {
	t.Helper()
	event := a.does(t, 201, "POST", "/"+channel+"/event", `{"kind": "`+kind+`", "author": "somebody", "payload": `+payload+`}`, headers...)
	require.Equal(t, a.name(), event["author"], "the author is the caller")
	return text(t, event, "id")
}

// name is what the agent is called.
func (a agent) name() string {
	if a.Key == harness.BoundKey {
		return harness.BoundAgent
	}
	return a.Agent
}

// invited returns the guest that comes with a new invite of the channel.
func (a agent) invited(t *testing.T, h *harness.Server, channel, body string) agent {
	t.Helper()
	invite := a.does(t, 201, "POST", "/"+channel+"/invite", body)
	return agent{h.With(text(t, invite, "key"), text(t, invite, "agent"))}
}

func text(t *testing.T, answer object, name string) string {
	t.Helper()
	value, isText := answer[name].(string)
	require.True(t, isText, "%s of %v", name, answer)
	return value
}

// list returns a list of objects in an answer.
func list(t *testing.T, answer object, name string) (items []object) {
	t.Helper()
	found, isList := answer[name].([]any)
	require.True(t, isList, "%s of %v", name, answer)
	for _, item := range found {
		one, isObject := item.(object)
		require.True(t, isObject, "%v", item)
		items = append(items, one)
	}
	return items
}

// member returns an object in an answer.
func member(t *testing.T, answer object, name string) object {
	t.Helper()
	value, isObject := answer[name].(object)
	require.True(t, isObject, "%s of %v", name, answer)
	return value
}
