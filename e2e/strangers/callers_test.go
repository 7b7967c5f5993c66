package strangers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// These calls have no key, a wrong one, or a name that is not the caller's.
func TestCallersWhoAreNotWhoTheySay(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		before := w.ledger(t)
		for _, test := range []struct {
			what, key, agent string
			headers          []string
			refused          refusal
		}{
			{"no key", "", "alice", nil, unauthenticated("API_KEY_MISSING")},
			{"an unknown key", "dev-key-001", "alice", nil, unauthenticated("API_KEY_UNKNOWN")},
			{"a key that is nearly right", harness.Key + "x", "alice", nil, unauthenticated("API_KEY_UNKNOWN")},
			{"a key in the wrong case", strings.ToUpper(harness.Key), "alice", nil, unauthenticated("API_KEY_UNKNOWN")},
			{"an enormous key", strings.Repeat("k", 60_000), "alice", nil, unauthenticated("API_KEY_UNKNOWN")},
			{"an unknown bearer", "", "alice", []string{"Authorization", "Bearer nope"}, unauthenticated("API_KEY_UNKNOWN")},
			{"a basic login", "", "alice", []string{"Authorization", "Basic YWxpY2U6eA=="}, unauthenticated("API_KEY_MISSING")},
			{"two keys", harness.Key, "alice", []string{"Authorization", "Bearer " + harness.BoundKey}, unauthenticated("API_KEYS_DIFFER")},
			{"another agent than the key's", harness.BoundKey, "alice", nil, denied("AGENT_NOT_ALLOWED")},
			{"the operator's name", harness.Key, "operator", nil, denied("AGENT_RESERVED")},
			{"the server's name", harness.Key, "system", nil, denied("AGENT_RESERVED")},
			{"everyone's name", harness.Key, "*", nil, denied("AGENT_RESERVED")},
			{"a role's name", harness.Key, "role:reviewer", nil, denied("AGENT_RESERVED")},
			{"a name with a slash", harness.Key, "a/b", nil, badField("X-Agent-ID")},
			{"a name that is no ASCII", harness.Key, "älice", nil, badField("X-Agent-Id")},
			{"a name that is too long", harness.Key, strings.Repeat("a", 257), nil, badField("X-Agent-ID")},
			{"an unknown profile", harness.Key, "alice", []string{"X-OpenIntent-Compat", "everything"}, badField("X-OpenIntent-Compat")},
		} {
			t.Run(test.what, func(t *testing.T) {
				caller := h.With(test.key, test.agent)
				for _, call := range []string{
					"GET /v1/intents", "POST /v1/channels/{room}/messages", "GET /v1/channels/nope", "GET /v1/nothing",
					"PUT /v1/channels/{room}", "GET /v1/server/config",
				} {
					method, path, _ := strings.Cut(call, " ")
					answer := caller.REST(t, method, w.fill(path), "not even JSON", test.headers...)
					test.refused.check(t, answer)
					if test.refused.status == 401 {
						require.NotEmpty(t, answer.Header.Get("WWW-Authenticate"))
					}
					if test.key != "" {
						require.NotContains(t, string(answer.Body), test.key)
					}
				}
			})
		}
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

// These callers act in the name of others, or on things that belong to others.
func TestOtherPeoplesNamesAndThings(t *testing.T) {
	mismatch := denied("SENDER_MISMATCH")
	attempts := []attempt{
		{what: "send as bob", call: "POST /v1/channels/{room}/messages", body: `{"sender":"bob","payload":{}}`, refused: mismatch},
		{what: "send by name as bob", call: "POST /v1/intents/{intent}/channels/x/messages", body: `{"sender":"bob","payload":{}}`, refused: mismatch},
		{what: "send as the server", call: "POST /v1/channels/{room}/messages", body: `{"sender":"system","payload":{}}`, refused: mismatch},
		{what: "send as the operator", call: "POST /v1/channels/{room}/messages", body: `{"sender":"operator","payload":{}}`, refused: mismatch},
		{what: "reply as bob", call: "POST /v1/channels/{room}/messages/{request}/reply", body: `{"sender":"bob","payload":{}}`, refused: mismatch},
		{what: "ask as bob", call: "POST /v1/channels/{room}/ask", body: `{"sender":"bob","to":"carol","payload":{}}`, refused: mismatch},
		{what: "ask all as bob", call: "POST /v1/channels/{room}/ask_all", body: `{"sender":"bob","to":"carol","payload":{}}`, refused: mismatch},
		{what: "read as bob", call: "PATCH /v1/channels/{room}/messages/{notify}", body: `{"status":"read","agent_id":"bob"}`, refused: mismatch},
		{what: "create a channel as bob", call: "POST /v1/intents/{intent}/channels", body: `{"name":"x","created_by":"bob"}`, refused: mismatch},
		{what: "create an intent as bob", call: "POST /v1/intents", body: `{"title":"x","created_by":"bob"}`, refused: mismatch},
		{what: "log as bob", call: "POST /v1/intents/{intent}/events", body: `{"event_type":"comment","actor":"bob"}`, refused: mismatch},

		{what: "another's direct message", agent: "carol", call: "GET /v1/channels/{room}/messages/{notify}", refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "answer another's request", agent: "carol", call: "POST /v1/channels/{room}/messages/{request}/reply", body: `{"payload":{}}`, refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "answer another's request by sending", agent: "carol", call: "POST /v1/channels/{room}/messages", body: `{"payload":{},"message_type":"response","correlation_id":"{request}"}`, refused: badField("correlation_id")},
		{what: "mark another's message read", agent: "carol", call: "PATCH /v1/channels/{room}/messages/{notify}", body: `{"status":"read"}`, refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "await another's responses", agent: "carol", call: "GET /v1/channels/{room}/messages/{request}/responses", refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "await as the recipient", agent: "bob", call: "GET /v1/channels/{room}/messages/{request}/responses", refused: denied("NOT_THE_ASKER")},
		{what: "answer one's own request", call: "POST /v1/channels/{room}/messages/{request}/reply", body: `{"payload":{}}`, refused: denied("OWN_REQUEST")},
		{what: "edit as the recipient", agent: "bob", call: "PATCH /v1/channels/{room}/messages/{notify}", body: `{"payload":{}}`, refused: denied("NOT_THE_SENDER")},
		{what: "delete as a recipient", agent: "carol", call: "DELETE /v1/channels/{room}/messages/{broadcast}", refused: denied("NOT_THE_SENDER")},
		{what: "mark one's own message read", call: "PATCH /v1/channels/{room}/messages/{notify}", body: `{"status":"read"}`, refused: denied("OWN_MESSAGE")},

		{what: "list where one is no member", agent: "carol", call: "GET /v1/channels/{members_room}/messages", refused: denied("NOT_A_MEMBER")},
		{what: "get where one is no member", agent: "carol", call: "GET /v1/channels/{members_room}/messages/{members_message}", refused: denied("NOT_A_MEMBER")},
		{what: "send where one is no member", agent: "carol", call: "POST /v1/channels/{members_room}/messages", body: `{"payload":{}}`, refused: denied("NOT_A_MEMBER")},
		{what: "ask where one is no member", agent: "carol", call: "POST /v1/channels/{members_room}/ask", body: `{"to":"bob","payload":{}}`, refused: denied("NOT_A_MEMBER")},
		{what: "send to an agent that is no member", call: "POST /v1/channels/{members_room}/messages", body: `{"to":"carol","payload":{}}`, refused: denied("TARGET_NOT_A_MEMBER")},
		{what: "ask an agent that is no member", call: "POST /v1/channels/{members_room}/ask", body: `{"to":"carol","payload":{}}`, refused: denied("TARGET_NOT_A_MEMBER")},
		{what: "let oneself in", agent: "carol", call: "POST /v1/channels/{members_room}/members", body: `{"members":["carol"]}`, refused: denied("FORBIDDEN")},
		{what: "open another's channel", agent: "carol", call: "PATCH /v1/channels/{members_room}", body: `{"member_policy":"intent"}`, refused: denied("FORBIDDEN")},
		{what: "close another's channel", agent: "carol", call: "PATCH /v1/channels/{room}", body: `{"status":"closed"}`, refused: denied("FORBIDDEN")},
		{what: "delete another's channel", agent: "carol", call: "DELETE /v1/channels/{room}", refused: denied("FORBIDDEN")},
		{what: "throw a member out", agent: "carol", call: "DELETE /v1/channels/{members_room}/members/bob", refused: denied("FORBIDDEN")},

		{what: "another's inbox", agent: "carol", call: "GET /v1/agents/bob/inbox", refused: denied("NOT_AGENT_OWNER")},
		{what: "mark another's inbox read", agent: "carol", call: "POST /v1/agents/bob/inbox/read", body: `{"message_ids":["{notify}"]}`, refused: denied("NOT_AGENT_OWNER")},
		{what: "mark what one cannot see read", agent: "carol", call: "POST /v1/agents/carol/inbox/read", body: `{"message_ids":["{broadcast}","{notify}"]}`, refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "mark one's own message read in the inbox", call: "POST /v1/agents/alice/inbox/read", body: `{"message_ids":["{notify}"]}`, refused: denied("OWN_MESSAGE")},
		{what: "another's thread", agent: "carol", call: "GET /v1/channels/{room}/messages/{notify}/thread", refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "a thread where one is no member", agent: "carol", call: "GET /v1/channels/{members_room}/messages/{members_message}/thread", refused: denied("NOT_A_MEMBER")},
		{what: "what became of another's message", agent: "bob", call: "GET /v1/channels/{room}/messages/{notify}/deliveries", refused: notFound("MESSAGE_NOT_FOUND")},
		{what: "what became of a message where one is no member", agent: "carol", call: "GET /v1/channels/{members_room}/messages/{members_message}/deliveries", refused: denied("NOT_A_MEMBER")},
		{what: "subscribe for bob", call: "POST /v1/subscriptions", body: `{"subscriber_id":"bob"}`, refused: mismatch},
		{what: "list bob's subscriptions", call: "GET /v1/subscriptions?subscriber_id=bob", refused: mismatch},
		{what: "subscribe to a hidden intent", agent: "bob", call: "POST /v1/subscriptions", body: `{"intent_id":"{hidden_intent}"}`, refused: denied("FORBIDDEN")},
		{what: "subscribe to a hidden channel", agent: "bob", call: "POST /v1/subscriptions", body: `{"channel_id":"{hidden_room}"}`, refused: denied("FORBIDDEN")},
		{what: "subscribe where one is no member", agent: "carol", call: "POST /v1/subscriptions", body: `{"channel_id":"{members_room}"}`, refused: denied("NOT_A_MEMBER")},
		{what: "see another's subscription", agent: "bob", call: "GET /v1/subscriptions/{subscription}", refused: notFound("SUBSCRIPTION_NOT_FOUND")},
		{what: "delete another's subscription", agent: "bob", call: "DELETE /v1/subscriptions/{subscription}", refused: notFound("SUBSCRIPTION_NOT_FOUND")},
		{what: "take another's deliveries", agent: "bob", call: "GET /v1/subscriptions/{subscription}/deliveries", refused: notFound("SUBSCRIPTION_NOT_FOUND")},
		{what: "acknowledge for another", agent: "bob", call: "POST /v1/subscriptions/{subscription}/acknowledge", body: `{"through":1}`, refused: notFound("SUBSCRIPTION_NOT_FOUND")},
		{what: "read another's dead letters", agent: "bob", call: "GET /v1/subscriptions/{subscription}/dead_letters", refused: notFound("SUBSCRIPTION_NOT_FOUND")},
		{what: "redrive another's dead letters", agent: "bob", call: "POST /v1/subscriptions/{subscription}/dead_letters/redrive", body: `{}`, refused: notFound("SUBSCRIPTION_NOT_FOUND")},

		{what: "register for bob", call: "POST /v1/agents", body: `{"agent_id":"somebody"}`, refused: denied("NOT_AGENT_OWNER")},
		{what: "deregister bob", call: "DELETE /v1/agents/bob", refused: denied("NOT_AGENT_OWNER")},
		{what: "beat for bob", call: "POST /v1/agents/bob/heartbeat", body: `{}`, refused: denied("NOT_AGENT_OWNER")},
		{what: "beat as coordinator", agent: "carol", call: "POST /v1/coordinators/{coordinator}/heartbeat", body: `{}`, refused: denied("NOT_COORDINATOR")},
		{what: "coordinate another's intent", agent: "carol", call: "POST /v1/intents/{other_intent}/coordinator", body: `{}`, refused: denied("FORBIDDEN")},
	}
	for _, hidden := range []struct{ call, body string }{
		{"GET /v1/intents/{hidden_intent}", ``},
		{"POST /v1/intents/{hidden_intent}/state", `{"state":{"a":1}}`},
		{"POST /v1/intents/{hidden_intent}/status", `{"status":"active"}`},
		{"GET /v1/intents/{hidden_intent}/events", ``},
		{"GET /v1/intents/{hidden_intent}/events/verify", ``},
		{"POST /v1/intents/{hidden_intent}/events", `{"event_type":"comment"}`},
		{"GET /v1/intents/{hidden_intent}/acl", ``},
		{"PUT /v1/intents/{hidden_intent}/acl", `{"default_policy":"open"}`},
		{"POST /v1/intents/{hidden_intent}/acl/entries", `{"principal_id":"bob","permission":"admin"}`},
		{"GET /v1/intents/{hidden_intent}/agents", ``},
		{"POST /v1/intents/{hidden_intent}/agents", `{"agent_id":"bob"}`},
		{"GET /v1/intents/{hidden_intent}/tasks", ``},
		{"POST /v1/intents/{hidden_intent}/tasks", `{"name":"x"}`},
		{"GET /v1/intents/{hidden_intent}/channels", ``},
		{"POST /v1/intents/{hidden_intent}/channels", `{"name":"x"}`},
		{"POST /v1/intents/{hidden_intent}/channels/x/messages", `{"payload":{}}`},
		{"GET /v1/channels/{hidden_room}", ``},
		{"GET /v1/channels/{hidden_room}/messages", ``},
		{"POST /v1/channels/{hidden_room}/messages", `{"payload":{}}`},
		{"POST /v1/channels/{hidden_room}/ask", `{"to":"alice","payload":{}}`},
	} {
		forbidden := denied("FORBIDDEN")
		forbidden.member = "required_permission"
		attempts = append(attempts, attempt{
			what: hidden.call, agent: "bob", call: hidden.call, body: hidden.body, headers: []string{"If-Match", "1"}, refused: forbidden,
		})
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}
