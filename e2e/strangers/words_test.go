package strangers

import (
	"testing"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// These fields accept only a few words; the test sends words that they do not accept.
func TestMisspeltWords(t *testing.T) {
	databasetest.OneEngineOf(t)
	var attempts []attempt
	for _, word := range []struct{ call, body, field string }{
		{"POST /v1/intents", `{"title":"x","status":WORD}`, "status"},
		{"POST /v1/intents/{intent}/channels", `{"name":"x","member_policy":WORD}`, "member_policy"},
		{"PATCH /v1/channels/{room}", `{"member_policy":WORD}`, "member_policy"},
		{"PATCH /v1/channels/{room}", `{"status":WORD}`, "status"},
		{"POST /v1/channels/{room}/messages", `{"payload":{},"message_type":WORD}`, "message_type"},
		{"POST /v1/intents/{intent}/channels/room/messages", `{"payload":{},"message_type":WORD}`, "message_type"},
		{"PATCH /v1/channels/{room}/messages/{request}", `{"status":WORD}`, "status"},
		{"PUT /v1/intents/{intent}/acl", `{"default_policy":WORD}`, "default_policy"},
		{"PUT /v1/intents/{intent}/acl", `{"default_policy":"open","entries":[{"principal_id":"x","permission":WORD}]}`, "entries[0].permission"},
		{"POST /v1/intents/{intent}/acl/entries", `{"principal_id":"x","permission":WORD}`, "permission"},
		{"POST /v1/intents/{intent}/acl/entries", `{"principal_id":"x","permission":"read","principal_type":WORD}`, "principal_type"},
		{"POST /v1/intents/{other_intent}/coordinator", `{"coordinator_type":WORD}`, "coordinator_type"},
		{"POST /v1/intents/{other_intent}/coordinator", `{"scope":WORD}`, "scope"},
		{"POST /v1/agents", `{"status":WORD}`, "status"},
		{"PATCH /v1/agents/alice/status", `{"status":WORD}`, "status"},
		{"PUT /v1/agents/alice/status", `{"status":WORD}`, "status"},
		{"POST /v1/agents/alice/heartbeat", `{"status":WORD}`, "status"},
		{"PATCH /v1/tasks/{task}", `{"status":WORD}`, "status"},
	} {
		for _, wrong := range []string{`"opne"`, `""`, `"unspecified"`, `"OPEN"`, `1`, `true`, `["read"]`, `{}`} {
			attempts = append(attempts, attempt{
				what: word.field + " " + wrong, call: word.call, body: replaceWord(word.body, wrong),
				headers: []string{"If-Match", "1"}, refused: badField(word.field),
			})
		}
	}
	for _, query := range []struct{ path, key string }{
		{"/v1/intents", "status"},
		{"/v1/intents/{intent}/channels", "status"},
		{"/v1/channels/{room}/messages", "message_type"},
		{"/v1/agents", "status"},
		{"/v1/intents/{intent}/tasks", "status"},
		{"/v1/intents/{intent}/events", "order"},
	} {
		for _, wrong := range []string{"opne", "", "unspecified", "OPEN", "1", "open,closed"} {
			attempts = append(attempts, attempt{
				what: query.key + "=" + wrong, call: "GET " + query.path + "?" + query.key + "=" + wrong,
				refused: badField(query.key),
			})
		}
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}
