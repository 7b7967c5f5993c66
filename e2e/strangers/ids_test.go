package strangers

import (
	"strings"
	"testing"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// These paths contain an id of nothing, in every place that takes an id.
func TestIdsOfNothing(t *testing.T) {
	var attempts []attempt
	for _, place := range []struct{ call, body, reason string }{
		{"GET /v1/intents/ID", ``, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/state", `{"state":{"a":1}}`, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/status", `{"status":"active"}`, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/ID/agents", ``, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/agents", `{"agent_id":"bob"}`, "INTENT_NOT_FOUND"},
		{"DELETE /v1/intents/ID/agents/bob", ``, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/ID/events", ``, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/events", `{"event_type":"comment"}`, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/ID/events/verify", ``, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/{intent}/events/ID", ``, "EVENT_NOT_FOUND"},
		{"GET /v1/intents/{other_intent}/events/{event}", ``, "EVENT_NOT_FOUND"},
		{"GET /v1/intents/ID/acl", ``, "INTENT_NOT_FOUND"},
		{"PUT /v1/intents/ID/acl", `{"default_policy":"open"}`, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/acl/entries", `{"principal_id":"x","permission":"read"}`, "INTENT_NOT_FOUND"},
		{"DELETE /v1/intents/{guarded_intent}/acl/entries/ID", ``, "ACCESS_ENTRY_NOT_FOUND"},
		{"DELETE /v1/intents/{intent}/acl/entries/{entry}", ``, "ACCESS_ENTRY_NOT_FOUND"},
		{"POST /v1/intents/ID/coordinator", `{}`, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/ID/coordinators", ``, "INTENT_NOT_FOUND"},
		{"GET /v1/coordinators/ID", ``, "COORDINATOR_NOT_FOUND"},
		{"POST /v1/coordinators/ID/heartbeat", `{}`, "COORDINATOR_NOT_FOUND"},
		{"DELETE /v1/intents/ID/coordinator", ``, "INTENT_NOT_FOUND"},
		{"GET /v1/intents/ID/tasks", ``, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/tasks", `{"name":"x"}`, "INTENT_NOT_FOUND"},
		{"GET /v1/tasks/ID", ``, "TASK_NOT_FOUND"},
		{"PATCH /v1/tasks/ID", `{"status":"running"}`, "TASK_NOT_FOUND"},
		{"POST /v1/tasks/ID/claim", `{}`, "TASK_NOT_FOUND"},
		{"POST /v1/tasks/ID/complete", `{}`, "TASK_NOT_FOUND"},
		{"POST /v1/tasks/ID/fail", `{}`, "TASK_NOT_FOUND"},
		{"GET /v1/agents/ID", ``, "AGENT_NOT_FOUND"},
		{"GET /v1/agents/ID/record", ``, "AGENT_NOT_FOUND"},
		{"GET /v1/intents/ID/channels", ``, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/channels", `{"name":"x"}`, "INTENT_NOT_FOUND"},
		{"POST /v1/intents/ID/channels/x/messages", `{"payload":{}}`, "INTENT_NOT_FOUND"},
		{"GET /v1/channels/ID", ``, "CHANNEL_NOT_FOUND"},
		{"PATCH /v1/channels/ID", `{"status":"closed"}`, "CHANNEL_NOT_FOUND"},
		{"DELETE /v1/channels/ID", ``, "CHANNEL_NOT_FOUND"},
		{"POST /v1/channels/ID/members", `{"members":["x"]}`, "CHANNEL_NOT_FOUND"},
		{"DELETE /v1/channels/ID/members/bob", ``, "CHANNEL_NOT_FOUND"},
		{"POST /v1/channels/ID/messages", `{"payload":{}}`, "CHANNEL_NOT_FOUND"},
		{"GET /v1/channels/ID/messages", ``, "CHANNEL_NOT_FOUND"},
		{"POST /v1/channels/ID/ask", `{"to":"bob","payload":{}}`, "CHANNEL_NOT_FOUND"},
		{"POST /v1/channels/ID/ask_all", `{"to":"bob","payload":{}}`, "CHANNEL_NOT_FOUND"},
		{"GET /v1/channels/ID/messages/{request}", ``, "CHANNEL_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/ID", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/{other_message}", ``, "MESSAGE_NOT_FOUND"},
		{"PATCH /v1/channels/{room}/messages/ID", `{"status":"read"}`, "MESSAGE_NOT_FOUND"},
		{"PATCH /v1/channels/{room}/messages/{other_message}", `{"status":"read"}`, "MESSAGE_NOT_FOUND"},
		{"POST /v1/channels/{room}/messages/ID/reply", `{"payload":{}}`, "MESSAGE_NOT_FOUND"},
		{"POST /v1/channels/{other_room}/messages/{request}/reply", `{"payload":{}}`, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/ID/responses", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{other_room}/messages/{request}/responses", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/ID/messages/{request}/thread", ``, "CHANNEL_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/ID/thread", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{other_room}/messages/{request}/thread", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/ID/messages/{request}/deliveries", ``, "CHANNEL_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/ID/deliveries", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{other_room}/messages/{request}/deliveries", ``, "MESSAGE_NOT_FOUND"},
		{"PUT /v1/channels/ID/messages/{request}/reactions/seen", `{}`, "CHANNEL_NOT_FOUND"},
		{"PUT /v1/channels/{room}/messages/ID/reactions/seen", `{}`, "MESSAGE_NOT_FOUND"},
		{"PUT /v1/channels/{other_room}/messages/{request}/reactions/seen", `{}`, "MESSAGE_NOT_FOUND"},
		{"DELETE /v1/channels/{room}/messages/ID/reactions/seen", ``, "MESSAGE_NOT_FOUND"},
		{"GET /v1/channels/{room}/messages/ID/reactions", ``, "MESSAGE_NOT_FOUND"},
		{"POST /v1/agents/alice/inbox/read", `{"message_ids":["ID"]}`, "MESSAGE_NOT_FOUND"},
		{"POST /v1/subscriptions", `{"intent_id":"ID"}`, "INTENT_NOT_FOUND"},
		{"POST /v1/subscriptions", `{"channel_id":"ID"}`, "CHANNEL_NOT_FOUND"},
		{"GET /v1/subscriptions/ID", ``, "SUBSCRIPTION_NOT_FOUND"},
		{"DELETE /v1/subscriptions/ID", ``, "SUBSCRIPTION_NOT_FOUND"},
		{"GET /v1/subscriptions/ID/deliveries", ``, "SUBSCRIPTION_NOT_FOUND"},
		{"POST /v1/subscriptions/ID/acknowledge", `{"through":1}`, "SUBSCRIPTION_NOT_FOUND"},
		{"GET /v1/subscriptions/ID/dead_letters", ``, "SUBSCRIPTION_NOT_FOUND"},
		{"POST /v1/subscriptions/ID/dead_letters/redrive", `{}`, "SUBSCRIPTION_NOT_FOUND"},
	} {
		ids := []string{
			"nope", "0", "-1", "null", "00000000-0000-0000-0000-000000000000", "chan_00000000000000000000000000",
			"msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "%2E%2E", "a%20b", "%27%20OR%201=1%20--", "%E2%80%8B", "%F0%9F%98%80",
			strings.Repeat("x", 128),
		}
		if !strings.Contains(place.call, "ID") {
			ids = ids[:1]
		}
		body := strings.Replace(place.body, "ID", ids[0], 1)
		for _, id := range ids {
			attempts = append(attempts, attempt{
				what: id[:min(len(id), 40)], call: strings.Replace(place.call, "ID", id, 1), body: body,
				headers: []string{"If-Match", "1"}, refused: notFound(place.reason),
			})
		}
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}

// These are texts that cannot be ids, paths that lead nowhere, and methods that a path does not answer to.
func TestWrongPathsAndMethods(t *testing.T) {
	databasetest.OneEngineOf(t)
	var attempts []attempt
	add := func(refused refusal, calls ...string) {
		for _, call := range calls {
			attempts = append(attempts, attempt{what: call, call: call, refused: refused})
		}
	}
	add(badField("channel_id"), "GET /v1/channels/%00", "GET /v1/channels/%FF", "GET /v1/channels/a%00b/messages",
		"GET /v1/channels/%C3%28/messages")
	add(badField("message_id"), "GET /v1/channels/{room}/messages/%00")
	add(badField("intent_id"), "GET /v1/intents/%FE%FF")
	add(notFound("CHANNEL_NOT_FOUND"), "GET /v1/channels/a%2Fb")
	add(unknownRoute, "GET //", "GET /v1", "GET /v1/", "GET /v2/intents", "GET /api", "GET /api/v1", "GET /api/v1/",
		"GET /api/v2/intents", "GET /v1/nothing", "GET /v1/intents/", "GET /v1//intents", "GET //v1/intents",
		"GET /v1/intents/{intent}/", "GET /v1/channels/{room}/nothing", "GET /v1/../v1/intents", "GET /V1/intents",
		"GET /v1/channels/{room}/messages/{request}/", "GET /favicon.ico",
		"GET /v1/leases", "GET /v1/checkpoints", "POST /graphql", "GET /v1/subscribe", "GET /v1/subscribe/portfolios/x",
		"GET /v1/portfolios/x/subscribe", "GET /v1/subscribe/intents/", "GET /v1/intents//subscribe",
		"GET /v1/subscriptions/", "GET /v1/subscriptions/{subscription}/stream", "GET /v1/agents/alice/inbox/")
	add(wrongMethod, "PUT /v1/channels/{room}", "POST /v1/channels/{room}", "DELETE /v1/channels/{room}/messages",
		"PUT /v1/channels/{room}/messages/{request}", "GET /v1/channels/{room}/ask", "DELETE /v1/intents/{intent}",
		"PATCH /v1/intents", "GET /v1/channels/{room}/messages/{request}/reply", "OPTIONS /v1/intents", "BREW /v1/intents",
		"POST /healthz", "DELETE /metrics", "POST /openapi.json", "POST /docs", "POST /.well-known/openintent.json",
		"POST /v1/server/config", "POST /v1/subscribe/channels/{room}", "DELETE /v1/subscribe/intents/{intent}",
		"POST /v1/intents/{intent}/subscribe", "PUT /v1/agents/alice/subscribe",
		"PATCH /v1/subscribe/subscriptions/{subscription}", "PUT /v1/subscriptions", "PUT /v1/subscriptions/{subscription}",
		"POST /v1/subscriptions/{subscription}/deliveries", "GET /v1/subscriptions/{subscription}/acknowledge",
		"DELETE /v1/subscriptions/{subscription}/dead_letters", "POST /v1/agents/alice/inbox", "GET /v1/agents/alice/inbox/read",
		"POST /v1/channels/{room}/messages/{request}/deliveries", "POST /v1/channels/{room}/messages/{request}/thread")
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.try(t, attempts)
		answer := w.do(t, "alice", "PUT", "/v1/channels/{room}", "")
		if allow := answer.Header.Get("Allow"); allow != "DELETE, GET, HEAD, PATCH" {
			t.Errorf("Allow is %q", allow)
		}
	})
}

// These query keys are unknown, are repeated or have invalid values, and these cursors belong to other places.
func TestWrongQueries(t *testing.T) {
	databasetest.OneEngineOf(t)
	var attempts []attempt
	add := func(path, field string, queries ...string) {
		for _, query := range queries {
			attempts = append(attempts, attempt{what: query, call: "GET " + path + "?" + query, refused: badField(field)})
		}
	}
	messages := "/v1/channels/{room}/messages"
	add(messages, "limt", "limt=5", "limt", "limit=5&limt=5")
	add(messages, "limit", "limit=", "limit=many", "limit=0", "limit=-1", "limit=1001", "limit=1.5", "limit=5&limit=6",
		"limit=9999999999", "limit=0x10")
	add(messages, "since", "since=nope", "since={other_message}", "since=msg_1", "since=2026-13-01T00:00:00Z", "since=5",
		"since={room}", "since=msg_zzzzzzzzzzzzzzzzzzzzzzzzzz", "since=%00", "since=%FF", "since={request}&since={notify}")
	add(messages, "query", "%zz=1", "limit=%zz", "a;b=c")
	add(messages, "to", "to="+strings.Repeat("x", 300), "to=%00")
	add(messages, "channel_id", "channel_id={other_room}")
	add(messages, "payload", "payload=x")
	add(messages+"/{request}", "fields", "fields=id")
	add(messages+"/{request}/responses", "wait_seconds", "wait_seconds=-1", "wait_seconds=601", "wait_seconds=NaN",
		"wait_seconds=Inf", "wait_seconds=1e999", "wait_seconds=soon")
	add(messages+"/{request}/responses", "min_responses", "min_responses=0", "min_responses=1001")
	inbox, subscription := "/v1/agents/alice/inbox", "/v1/subscriptions/{subscription}"
	add(inbox, "limit", "limit=0", "limit=1001", "limit=many")
	add(inbox, "cursor", "cursor=nope", "cursor={request}", "cursor=%00", "cursor="+strings.Repeat("x", 257))
	add(inbox, "wait_seconds", "wait_seconds=-1", "wait_seconds=601", "wait_seconds=NaN", "wait_seconds=soon")
	add(inbox, "agent_id", "agent_id=bob")
	add("/v1/subscriptions", "subscriber_id", "subscriber_id="+strings.Repeat("x", 300), "subscriber_id=%00")
	add("/v1/subscriptions", "name", "name=work")
	add(subscription, "fields", "fields=id")
	add(subscription+"/deliveries", "limit", "limit=0", "limit=1001")
	add(subscription+"/deliveries", "wait_seconds", "wait_seconds=-1", "wait_seconds=601", "wait_seconds=NaN")
	add(subscription+"/dead_letters", "limit", "limit=0", "limit=1001")
	add(subscription+"/dead_letters", "after_number", "after_number=-1", "after_number=9223372036854775808", "after_number=last")
	for _, list := range []string{
		messages + "/{request}/deliveries", messages + "/{request}/thread", "/v1/intents", "/v1/agents", "/v1/intents/{intent}/tasks", "/v1/intents/{intent}/channels",
		"/v1/intents/{intent}/events",
	} {
		add(list, "limit", "limit=0", "limit=1001", "limit=many")
		add(list, "cursor", "cursor=nope", "cursor=%00", "cursor=e30")
	}
	add("/v1/intents", "offset", "offset=-1", "offset=x")
	add("/v1/intents/{intent}/events", "since", "since=yesterday", "since=")
	add("/v1/intents/{intent}/events", "after_sequence", "after_sequence=-1", "after_sequence=9223372036854775808")
	add("/v1/agents", "min_available_capacity", "min_available_capacity=-1")
	add("/v1/events", "trace_id", "", "trace_id=xyz", "trace_id="+strings.Repeat("A", 32))
	for _, call := range []string{
		"POST " + messages, "PATCH /v1/channels/{room}", "POST /v1/channels/{room}/ask", "POST /v1/intents/{intent}/status",
	} {
		attempts = append(attempts, attempt{
			what: "a query where none is taken", call: call + "?status=closed", body: `{"payload":{}}`, refused: badField("status"),
		})
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}
