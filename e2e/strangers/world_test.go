package strangers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// secret is part of everything that strangers may not see: no refusal may contain it.
const secret = "the-secret-of-alice-and-bob"

// world is a server with at least one of everything. Attempts refer to its things by placeholders: {intent}, {room}
// and so on.
//
// alice created everything. bob takes part; carol has access to the intent and is on no member list.
type world struct {
	*harness.Server
	places map[string]string
}

func newWorld(t *testing.T, h *harness.Server) *world {
	w := &world{Server: h, places: make(map[string]string)}
	w.makeIntents(t)
	w.makeChannels(t)
	w.makeMessages(t)
	w.make(t, "subscription", "id", "alice", "/v1/subscriptions", `{"name":"work","intent_id":"{intent}"}`)
	return w
}

func (w *world) makeIntents(t *testing.T) {
	w.make(t, "intent", "id", "alice", "/v1/intents", `{"title":"Report","status":"active"}`)
	w.make(t, "other_intent", "id", "alice", "/v1/intents", `{"title":"Another"}`)
	w.make(t, "ended_intent", "id", "alice", "/v1/intents", `{"title":"Over","status":"active"}`)
	w.make(t, "ended_room", "id", "alice", "/v1/intents/{ended_intent}/channels", `{"name":"over"}`)
	answer := w.do(t, "alice", "POST", "/v1/intents/{ended_intent}/status", `{"status":"completed"}`, "If-Match", "1")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	w.make(t, "hidden_intent", "id", "alice", "/v1/intents", `{"title":"`+secret+`"}`)
	answer = w.do(t, "alice", "PUT", "/v1/intents/{hidden_intent}/acl", `{"default_policy":"closed"}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	w.make(t, "hidden_room", "id", "alice", "/v1/intents/{hidden_intent}/channels", `{"name":"`+secret+`"}`)
	w.make(t, "hidden_address", "address", "alice", "/v1/intents/{hidden_intent}/channels", `{"name":"`+secret+` board","dictatable":true}`)
	w.make(t, "guarded_intent", "id", "alice", "/v1/intents", `{"title":"Guarded"}`)
	w.make(t, "entry", "id", "alice", "/v1/intents/{guarded_intent}/acl/entries", `{"principal_id":"bob","permission":"read"}`)
	w.make(t, "event", "id", "alice", "/v1/intents/{intent}/events", `{"event_type":"comment","payload":{"n":1}}`)
	w.make(t, "task", "id", "alice", "/v1/intents/{intent}/tasks", `{"name":"collect"}`)
	w.make(t, "coordinator", "id", "alice", "/v1/intents/{intent}/coordinator", `{"agent_id":"bob"}`)
	w.make(t, "agent", "agent_id", "bob", "/v1/agents", `{"role_id":"reviewer"}`)
	w.make(t, "gone_agent", "agent_id", "gone", "/v1/agents", `{}`)
	require.Equal(t, 204, w.do(t, "gone", "DELETE", "/v1/agents/gone", "").Status)
}

func (w *world) makeChannels(t *testing.T) {
	w.make(t, "room", "id", "alice", "/v1/intents/{intent}/channels", `{"name":"room"}`)
	w.make(t, "other_room", "id", "alice", "/v1/intents/{intent}/channels", `{"name":"other room"}`)
	w.make(t, "members_room", "id", "alice", "/v1/intents/{intent}/channels",
		`{"name":"members","member_policy":"explicit","members":["alice","bob"]}`)
	w.make(t, "closed_room", "id", "alice", "/v1/intents/{intent}/channels", `{"name":"closed"}`)
	w.make(t, "closed_message", "id", "alice", "/v1/channels/{closed_room}/messages", `{"payload":{}}`)
	answer := w.do(t, "alice", "PATCH", "/v1/channels/{closed_room}", `{"status":"closed"}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
}

func (w *world) makeMessages(t *testing.T) {
	words := `"payload":{"secret":"` + secret + `"}`
	w.make(t, "request", "id", "alice", "/v1/channels/{room}/messages", `{"to":"bob","message_type":"request",`+words+`}`)
	w.make(t, "response", "id", "bob", "/v1/channels/{room}/messages/{request}/reply", `{`+words+`}`)
	w.make(t, "notify", "id", "alice", "/v1/channels/{room}/messages", `{"to":"bob",`+words+`}`)
	w.make(t, "broadcast", "id", "alice", "/v1/channels/{room}/messages", `{"message_type":"broadcast",`+words+`}`)
	w.make(t, "members_message", "id", "alice", "/v1/channels/{members_room}/messages", `{`+words+`}`)
	w.make(t, "other_message", "id", "alice", "/v1/channels/{other_room}/messages", `{`+words+`}`)
	answer := w.do(t, "alice", "POST", "/v1/channels/{room}/messages", `{"payload":{"n":1}}`, "Idempotency-Key", "used")
	require.Equal(t, 201, answer.Status, "%s", answer.Body)

	answer = w.do(t, "alice", "POST", "/v1/channels/{room}/ask", `{"to":"bob","payload":{},"timeout_seconds":0.001}`)
	require.Equal(t, 408, answer.Status, "%s", answer.Body)
	var expired struct {
		MessageID string `json:"message_id"`
	}
	answer.Decode(t, &expired)
	w.places["expired"] = expired.MessageID
}

// make creates something and stores its id under a placeholder.
func (w *world) make(t *testing.T, place, idField, agent, path, body string) {
	t.Helper()
	answer := w.do(t, agent, "POST", path, body)
	require.Equal(t, 201, answer.Status, "%s %s: %s", path, body, answer.Body)
	var made map[string]any
	answer.Decode(t, &made)
	w.places[place] = made[idField].(string)
}

// fill replaces the placeholders in a path or a body.
func (w *world) fill(text string) string {
	for place, id := range w.places {
		text = strings.ReplaceAll(text, "{"+place+"}", id)
	}
	return text
}

func (w *world) do(t *testing.T, agent, method, path, body string, headers ...string) harness.Answer {
	t.Helper()
	return w.As(agent).REST(t, method, w.fill(path), w.fill(body), headers...)
}

// ledger returns everything in the world, as the operator sees it, one thing per line. It leaves out when keys were last used: that is noted a
// moment later, and also if the call with the key was refused.
func (w *world) ledger(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	var intents struct {
		Intents []map[string]any
		Total   int
	}
	w.read(t, "/v1/intents?limit=1000", &intents)
	require.Len(t, intents.Intents, intents.Total)
	for _, intent := range intents.Intents {
		w.write(t, &out, "intent", intent)
		path := fmt.Sprint("/v1/intents/", intent["id"])
		for _, list := range []string{"/events?limit=1000", "/agents", "/acl", "/coordinators", "/tasks"} {
			var content any
			w.read(t, path+list, &content)
			w.write(t, &out, list, content)
		}
		var channels []map[string]any
		w.read(t, path+"/channels", &channels)
		for _, channel := range channels {
			w.write(t, &out, "channel", channel)
			var messages any
			w.read(t, fmt.Sprint("/v1/channels/", channel["id"], "/messages"), &messages)
			w.write(t, &out, "messages", messages)
		}
	}
	var subscriptions any
	w.read(t, "/v1/subscriptions", &subscriptions)
	w.write(t, &out, "subscriptions", subscriptions)
	var keys any
	w.read(t, "/v1/keys", &keys)
	w.write(t, &out, "keys", keys)
	for _, status := range []string{"active", "unhealthy", "draining", "dead", "deregistered", "registering"} {
		var agents any
		w.read(t, "/v1/agents?status="+status, &agents)
		w.write(t, &out, status, agents)
	}
	return lastUsed.ReplaceAllString(out.String(), "")
}

var lastUsed = regexp.MustCompile(`"last_used_at":[^,}]*`)

func (w *world) read(t *testing.T, path string, into any) {
	t.Helper()
	answer := w.Operator().REST(t, "GET", path, "")
	require.Equal(t, 200, answer.Status, "%s: %s", path, answer.Body)
	answer.Decode(t, into)
}

func (w *world) write(t *testing.T, out *strings.Builder, what string, content any) {
	t.Helper()
	text, err := json.Marshal(content)
	require.NoError(t, err)
	fmt.Fprintln(out, what, string(text))
}
