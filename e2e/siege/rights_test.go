package siege

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// rightsKeys bind each of three agents to its own key.
const rightsKeys = "alice-key=alice,bob-key=bob,mallory-key=mallory"

const whispered = "what alice told bob alone"

// territory is an intent of alice's with a channel for her and bob. Mallory has a key and nothing else.
type territory struct {
	*harness.Server
	intent, channel string
}

func conquer(t *testing.T, url, creation string, flags ...string) *territory {
	t.Helper()
	w := &territory{Server: harness.StartProcess(t, harness.Options{URL: url, APIKeys: rightsKeys, Flags: flags})}
	w.intent = w.made(t, "/v1/intents", creation)
	w.channel = w.made(t, "/v1/intents/"+w.intent+"/channels", `{"name":"ours","member_policy":"explicit","members":["alice","bob"]}`)
	return w
}

// made creates something as alice and returns its id.
func (w *territory) made(t *testing.T, path, body string) string {
	t.Helper()
	answer := w.by("alice").REST(t, "POST", path, body)
	require.Equal(t, 201, answer.Status, "%s: %s", path, answer.Body)
	var made struct{ ID string }
	answer.Decode(t, &made)
	return made.ID
}

func (w *territory) by(agent string) *harness.Caller { return w.With(agent+"-key", "") }

// rightsStep is a call over REST, with the placeholders INTENT and CHANNEL, and the reason for which it must be
// refused.
type rightsStep struct{ call, body, reason string }

// refuse makes the steps as an agent, in order; each must be refused with 403.
func (w *territory) refuse(t *testing.T, agent string, steps []rightsStep) {
	t.Helper()
	for _, s := range steps {
		method, path, _ := strings.Cut(strings.NewReplacer("INTENT", w.intent, "CHANNEL", w.channel).Replace(s.call), " ")
		answer := w.by(agent).REST(t, method, path, s.body, "If-Match", "1")
		require.Equal(t, 403, answer.Status, "%s %s: %s", s.call, s.body, answer.Body)
		var problem struct{ Reason string }
		answer.Decode(t, &problem)
		require.Equal(t, s.reason, problem.Reason, s.call)
		require.NotContains(t, string(answer.Body), whispered)
	}
}

// TestAStrangerTakesOverAnIntentWithoutAList uses a key that is bound to an agent without any relation to an intent.
// The agent tries to become the intent's coordinator, and then to do everything that a coordinator may do.
func TestAStrangerTakesOverAnIntentWithoutAList(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		w := conquer(t, url, `{"title":"Report","status":"active"}`)
		require.Contains(t, w.Log(), "an intent without an access list is open")
		say := func() {
			answer := w.by("alice").REST(t, "POST", "/v1/channels/"+w.channel+"/messages",
				fmt.Sprintf(`{"to":"bob","payload":{"text":%q}}`, whispered))
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
		}
		say()
		steps := []rightsStep{
			{"POST /v1/intents/INTENT/acl/entries", `{"principal_id":"mallory","principal_type":"agent","permission":"admin"}`, "FORBIDDEN"},
			{"POST /v1/intents/INTENT/coordinator", `{"agent_id":"mallory"}`, "FORBIDDEN"},
			{"POST /v1/intents/INTENT/agents", `{"agent_id":"mallory"}`, "FORBIDDEN"},
			{"PATCH /v1/channels/CHANNEL", `{"member_policy":"intent"}`, "FORBIDDEN"},
			{"GET /v1/channels/CHANNEL/messages", "", "NOT_A_MEMBER"},
			{"POST /v1/channels/CHANNEL/members", `{"members":["mallory"]}`, "FORBIDDEN"},
			{"PATCH /v1/channels/CHANNEL", `{"options":{"audit":true}}`, "FORBIDDEN"},
			{"POST /v1/intents/INTENT/channels", `{"name":"theirs","options":{"audit":true}}`, "FORBIDDEN"},
			{"DELETE /v1/channels/CHANNEL", "", "FORBIDDEN"},
			{"PUT /v1/intents/INTENT/acl", `{"default_policy":"closed","entries":[{"principal_id":"mallory","permission":"admin"}]}`, "FORBIDDEN"},
			{"POST /v1/intents/INTENT/status", `{"status":"abandoned"}`, "FORBIDDEN"},
			{"POST /v1/intents", `{"title":"Part","parent_intent_id":"` + w.intent + `"}`, "FORBIDDEN"},
			{"POST /v1/intents/INTENT/events", `{"event_type":"access_granted","payload":{"principal_id":"mallory"}}`, "FORBIDDEN"},
		}
		w.refuse(t, "mallory", steps)

		say()
		events := w.by("mallory").REST(t, "GET", "/v1/intents/"+w.intent+"/events", "")
		require.Equal(t, 200, events.Status, "the intent is open to read")
		require.NotContains(t, string(events.Body), whispered)
		seen := w.by("bob").REST(t, "GET", "/v1/channels/"+w.channel+"/messages", "")
		require.Equal(t, 2, strings.Count(string(seen.Body), whispered), "%s", seen.Body)
		require.Equal(t, 200, w.by("alice").REST(t, "PUT", "/v1/intents/"+w.intent+"/acl", `{"default_policy":"closed"}`).Status)
		figure(t, "%d steps of a stranger with a bound key refused, nothing changed", len(steps))
	})
}

// TestAStrangerLooksIntoAClosedIntent checks that a stranger sees nothing of an intent and cannot be addressed there,
// where intents without a list are closed, and where an intent begins with a closed list.
func TestAStrangerLooksIntoAClosedIntent(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String()+" closed by the server's setting", func(t *testing.T) {
			w := conquer(t, databasetest.URL(t, engine), `{"title":"Report"}`, "--default-access=closed")
			require.Contains(t, w.Log(), "is for the agents related to it only")
			w.staysClosed(t)
		})
		t.Run(engine.String()+" closed from the beginning", func(t *testing.T) {
			conquer(t, databasetest.URL(t, engine), `{"title":"Report","default_policy":"closed"}`).staysClosed(t)
		})
	}
}

func (w *territory) staysClosed(t *testing.T) {
	steps := []rightsStep{
		{"GET /v1/intents/INTENT", "", "FORBIDDEN"},
		{"GET /v1/intents/INTENT/events", "", "FORBIDDEN"},
		{"GET /v1/intents/INTENT/acl", "", "FORBIDDEN"},
		{"GET /v1/intents/INTENT/channels", "", "FORBIDDEN"},
		{"GET /v1/intents/INTENT/tasks", "", "FORBIDDEN"},
		{"GET /v1/channels/CHANNEL", "", "FORBIDDEN"},
		{"GET /v1/channels/CHANNEL/messages", "", "FORBIDDEN"},
		{"GET /v1/subscribe/intents/INTENT", "", "FORBIDDEN"},
		{"POST /v1/intents/INTENT/state", `{"state":{"a":1}}`, "FORBIDDEN"},
		{"POST /v1/intents/INTENT/events", `{"event_type":"comment"}`, "FORBIDDEN"},
		{"POST /v1/intents/INTENT/tasks", `{"name":"x"}`, "FORBIDDEN"},
		{"POST /v1/intents/INTENT/channels", `{"name":"x"}`, "FORBIDDEN"},
		{"POST /v1/intents/INTENT/channels/x/messages", `{"payload":{}}`, "FORBIDDEN"},
		{"POST /v1/subscriptions", `{"intent_id":"` + w.intent + `"}`, "FORBIDDEN"},
		{"POST /v1/intents/INTENT/acl/entries", `{"principal_id":"mallory","permission":"admin"}`, "FORBIDDEN"},
	}
	w.refuse(t, "mallory", steps)
	var listed struct{ Total int }
	w.by("mallory").REST(t, "GET", "/v1/intents", "").Decode(t, &listed)
	require.Zero(t, listed.Total)
	w.refuse(t, "alice", []rightsStep{
		{"POST /v1/intents/INTENT/channels/x/messages", `{"to":"mallory","payload":{}}`, "TARGET_WITHOUT_ACCESS"},
	})
	require.Equal(t, 201, w.by("alice").REST(t, "POST", "/v1/intents/"+w.intent+"/agents", `{"agent_id":"mallory"}`).Status)
	require.Equal(t, 200, w.by("mallory").REST(t, "GET", "/v1/intents/"+w.intent, "").Status, "somebody let it in")
	w.refuse(t, "mallory", []rightsStep{{"GET /v1/channels/CHANNEL/messages", "", "NOT_A_MEMBER"}})
	figure(t, "%d attempts by a stranger to look were refused", len(steps))
}
