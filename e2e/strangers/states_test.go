package strangers

import (
	"testing"

	"openintent/e2e/harness"
)

// These calls come too late, twice, or for the wrong version.
func TestWrongMoments(t *testing.T) {
	stale := refusal{status: 409, code: "ABORTED", reason: "VERSION_MISMATCH", member: "current_version"}
	versionNeeded := refusal{status: 428, code: "FAILED_PRECONDITION", reason: "EXPECTED_VERSION_REQUIRED"}
	gone := refusal{status: 410, code: "FAILED_PRECONDITION", reason: "AGENT_GONE"}
	late := conflict("MESSAGE_EXPIRED")
	late.member = "message_id"
	answered := conflict("ANSWERED")
	answered.member = "message_id"
	send, reply, patch := "POST /v1/channels/{room}/messages", "/reply", "PATCH /v1/channels/{room}/messages/"
	attempts := []attempt{
		{what: "a reply to a response", call: send + "/{response}" + reply, body: `{"payload":{}}`, refused: invalid("NOT_A_REQUEST")},
		{what: "a reply to a notify", agent: "bob", call: send + "/{notify}" + reply, body: `{"payload":{}}`, refused: invalid("NOT_A_REQUEST")},
		{what: "a reply to a broadcast", agent: "bob", call: send + "/{broadcast}" + reply, body: `{"payload":{}}`, refused: invalid("NOT_A_REQUEST")},
		{what: "a response to a notify", agent: "bob", call: send, body: `{"message_type":"response","correlation_id":"{notify}","payload":{}}`, refused: invalid("NOT_A_REQUEST")},
		{what: "responses of a notify", call: "GET /v1/channels/{room}/messages/{notify}/responses", refused: invalid("NOT_A_REQUEST")},
		{what: "a reply to an expired request", agent: "bob", call: send + "/{expired}" + reply, body: `{"payload":{}}`, refused: late},
		{what: "a response to an expired request", agent: "bob", call: send, body: `{"message_type":"response","correlation_id":"{expired}","payload":{}}`, refused: late},
		{what: "an expired request, read", agent: "bob", call: patch + "{expired}", body: `{"status":"read"}`, refused: late},
		{what: "an expired request, edited", call: patch + "{expired}", body: `{"payload":{}}`, refused: late},
		{what: "an answered request, edited", call: patch + "{request}", body: `{"payload":{}}`, refused: answered},
		{what: "a message, read and edited", call: patch + "{notify}", body: `{"status":"read","payload":{}}`, refused: badField("payload")},
		{what: "a message, neither read nor edited", call: patch + "{notify}", body: `{}`, refused: badField("status")},
		{what: "a message on a closed channel, edited", call: "PATCH /v1/channels/{closed_room}/messages/{closed_message}", body: `{"payload":{}}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "a message on a closed channel, deleted", call: "DELETE /v1/channels/{closed_room}/messages/{closed_message}", refused: conflict("CHANNEL_CLOSED")},

		{what: "sending to a closed channel", call: "POST /v1/channels/{closed_room}/messages", body: `{"payload":{}}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "asking on a closed channel", call: "POST /v1/channels/{closed_room}/ask", body: `{"to":"bob","payload":{}}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "changing a closed channel", call: "PATCH /v1/channels/{closed_room}", body: `{"member_policy":"explicit"}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "adding to a closed channel", call: "POST /v1/channels/{closed_room}/members", body: `{"members":["bob"]}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "opening a closed channel", call: "PATCH /v1/channels/{closed_room}", body: `{"status":"open"}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "opening an open channel", call: "PATCH /v1/channels/{room}", body: `{"status":"open"}`, refused: badField("status")},
		{what: "changing nothing", call: "PATCH /v1/channels/{room}", body: `{}`, refused: invalid("NOTHING_TO_CHANGE")},
		{what: "changing without a body", call: "PATCH /v1/channels/{room}", refused: invalid("NOTHING_TO_CHANGE")},
		{what: "changing what nobody may", call: "PATCH /v1/channels/{room}", body: `{"name":"x"}`, refused: invalid("INVALID_FIELD")},
		{what: "changing the count", call: "PATCH /v1/channels/{room}", body: `{"message_count":0}`, refused: invalid("INVALID_FIELD")},
		{what: "a name that is taken", call: "POST /v1/intents/{intent}/channels", body: `{"name":"room"}`, refused: exists("CHANNEL_NAME_TAKEN")},

		{what: "sending in an ended intent", call: "POST /v1/channels/{ended_room}/messages", body: `{"payload":{}}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "sending by name in an ended intent", call: "POST /v1/intents/{ended_intent}/channels/x/messages", body: `{"payload":{}}`, refused: conflict("INTENT_ENDED")},
		{what: "a channel in an ended intent", call: "POST /v1/intents/{ended_intent}/channels", body: `{"name":"x"}`, refused: conflict("INTENT_ENDED")},
		{what: "a task in an ended intent", call: "POST /v1/intents/{ended_intent}/tasks", body: `{"name":"x"}`, refused: conflict("INTENT_ENDED")},
		{what: "an assignment in an ended intent", call: "POST /v1/intents/{ended_intent}/agents", body: `{"agent_id":"bob"}`, refused: conflict("INTENT_ENDED")},
		{what: "the state of an ended intent", call: "POST /v1/intents/{ended_intent}/state", body: `{"state":{"a":1}}`, headers: []string{"If-Match", "2"}, refused: conflict("INTENT_ENDED")},
		{what: "the status of an ended intent", call: "POST /v1/intents/{ended_intent}/status", body: `{"status":"active"}`, headers: []string{"If-Match", "2"}, refused: invalid("INVALID_TRANSITION")},
		{what: "the status it has", call: "POST /v1/intents/{intent}/status", body: `{"status":"active"}`, headers: []string{"If-Match", "1"}, refused: invalid("INVALID_TRANSITION")},
		{what: "a second coordinator", call: "POST /v1/intents/{intent}/coordinator", body: `{"agent_id":"carol"}`, refused: exists("COORDINATOR_EXISTS")},
		{what: "a second registration", agent: "bob", call: "POST /v1/agents", body: `{}`, refused: exists("AGENT_EXISTS")},
		{what: "a heartbeat of one who left", agent: "gone", call: "POST /v1/agents/gone/heartbeat", body: `{}`, refused: gone},
		{what: "completing a task that is not claimed", call: "POST /v1/tasks/{task}/complete", body: `{}`, refused: invalid("INVALID_TRANSITION")},

		{what: "no version for the state", call: "POST /v1/intents/{intent}/state", body: `{"state":{"a":1}}`, refused: invalid("EXPECTED_VERSION_REQUIRED")},
		{what: "no version for the status", call: "POST /v1/intents/{intent}/status", body: `{"status":"blocked"}`, refused: invalid("EXPECTED_VERSION_REQUIRED")},
		{what: "no version for a task", call: "PATCH /v1/tasks/{task}", body: `{"status":"claimed"}`, refused: versionNeeded},
		{what: "a stale version of the state", call: "POST /v1/intents/{intent}/state", body: `{"state":{"a":1}}`, headers: []string{"If-Match", "7"}, refused: stale},
		{what: "a stale version of the status", call: "POST /v1/intents/{intent}/status", body: `{"status":"blocked"}`, headers: []string{"If-Match", `W/"7"`}, refused: stale},
		{what: "a stale version of a task", call: "PATCH /v1/tasks/{task}", body: `{"status":"claimed"}`, headers: []string{"If-Match", `"7"`}, refused: stale},

		{what: "a reaction on a closed channel", call: "PUT /v1/channels/{closed_room}/messages/{closed_message}/reactions/seen", body: `{}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "taking a reaction back on a closed channel", call: "DELETE /v1/channels/{closed_room}/messages/{closed_message}/reactions/seen", refused: conflict("CHANNEL_CLOSED")},
		{what: "a subscription's name twice", call: "POST /v1/subscriptions", body: `{"name":"work"}`, refused: exists("SUBSCRIPTION_NAME_TAKEN")},
		{what: "a subscription to a closed channel", call: "POST /v1/subscriptions", body: `{"channel_id":"{closed_room}"}`, refused: conflict("CHANNEL_CLOSED")},
		{what: "acknowledging what was not delivered", call: "POST /v1/subscriptions/{subscription}/acknowledge", body: `{"numbers":[999999]}`, refused: invalid("NOT_DELIVERED")},
		{what: "acknowledging through what was not delivered", call: "POST /v1/subscriptions/{subscription}/acknowledge", body: `{"through":9007199254740991}`, refused: invalid("NOT_DELIVERED")},
		{what: "redriving what is no dead letter", call: "POST /v1/subscriptions/{subscription}/dead_letters/redrive", body: `{"numbers":[1]}`, refused: invalid("NOT_A_DEAD_LETTER")},
		{what: "an expired request, read in the inbox", agent: "bob", call: "POST /v1/agents/bob/inbox/read", body: `{"message_ids":["{expired}"]}`, refused: late},

		{what: "another message under a used key", call: send, body: `{"payload":{"n":2}}`, headers: []string{"Idempotency-Key", "used"}, refused: exists("IDEMPOTENCY_KEY_REUSED")},
		{what: "another type under a used key", call: send, body: `{"payload":{"n":1},"message_type":"broadcast"}`, headers: []string{"Idempotency-Key", "used"}, refused: exists("IDEMPOTENCY_KEY_REUSED")},
		{what: "two keys that differ", call: send, body: `{"payload":{},"idempotency_key":"a"}`, headers: []string{"Idempotency-Key", "b"}, refused: badField("Idempotency-Key")},
		{what: "an empty key", call: send, body: `{"payload":{}}`, headers: []string{"Idempotency-Key", ""}, refused: badField("idempotency_key")},
		{what: "a key that is no ASCII", call: send, body: `{"payload":{}}`, headers: []string{"Idempotency-Key", "schlüssel"}, refused: badField("Idempotency-Key")},
	}
	for _, garbage := range []string{"", "abc", "-1", "1.0", "1,2", "*", `"1`, `W/1`, `""`, "0x1", "99999999999999999999", "1 2", "٣"} {
		refused := badField("If-Match")
		attempts = append(attempts,
			attempt{what: "If-Match " + garbage, call: "POST /v1/intents/{intent}/state", body: `{"state":{"a":1}}`, headers: []string{"If-Match", garbage}, refused: refused},
			attempt{what: "If-Match " + garbage, call: "PATCH /v1/tasks/{task}", body: `{"status":"claimed"}`, headers: []string{"If-Match", garbage}, refused: refused})
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}
