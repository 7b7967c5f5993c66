package strangers

import (
	"strings"
	"testing"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// These bodies are not JSON objects, or could not come back equal.
func TestMalformedBodies(t *testing.T) {
	databasetest.OneEngineOf(t)
	body := badField("body")
	var attempts []attempt
	for _, call := range []string{
		"POST /v1/intents",
		"POST /v1/intents/{intent}/state",
		"POST /v1/intents/{intent}/status",
		"POST /v1/intents/{intent}/channels",
		"PATCH /v1/channels/{room}",
		"POST /v1/channels/{room}/members",
		"POST /v1/channels/{room}/messages",
		"POST /v1/channels/{room}/ask",
		"POST /v1/channels/{room}/ask_all",
		"POST /v1/channels/{room}/messages/{request}/reply",
		"PATCH /v1/channels/{room}/messages/{request}",
		"PUT /v1/channels/{room}/messages/{request}/reactions/seen",
		"POST /v1/intents/{intent}/events",
		"POST /v1/agents",
		"PATCH /v1/tasks/{task}",
		"POST /v1/subscriptions",
		"POST /v1/subscriptions/{subscription}/acknowledge",
		"POST /v1/subscriptions/{subscription}/dead_letters/redrive",
		"POST /v1/agents/alice/inbox/read",
	} {
		for what, text := range map[string]string{
			"words": "hello", "half an object": `{"name":`, "two objects": `{}{}`, "a list": `[]`, "null": `null`,
			"a text": `"{}"`, "a number": `1`, "a comment": `{/* */}`, "single quotes": `{'a':1}`, "a last comma": `{"a":1,}`,
			"a byte order mark": "\ufeff{}", "a form": "name=x&members=y", "a null byte": "{}\x00", "XML": `<?xml version="1.0"?><a/>`,
			"invalid UTF-8": "{\"name\":\"\xff\"}", "a control character": "{\"name\":\"a\nb\"}",
		} {
			expected := body
			if what == "half an object" || what == "invalid UTF-8" || what == "a control character" {
				expected = badField("name") // the field that the parser had reached
			}
			attempts = append(attempts, attempt{what: what, call: call, body: text, headers: []string{"If-Match", "1"}, refused: expected})
		}
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}

// These payloads would not come back equal, or are too large.
func TestPayloadsThatCannotComeBack(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)
	deepList := strings.Repeat(`[`, 65) + strings.Repeat("]", 65)
	veryDeep := strings.Repeat(`[`, 500_000)
	large := `"` + strings.Repeat("x", 256<<10) + `"`
	enormous := `"` + strings.Repeat("x", 1<<20) + `"`
	tooLarge := refusal{status: 413, code: "RESOURCE_EXHAUSTED", reason: "PAYLOAD_TOO_LARGE"}
	var attempts []attempt
	for _, place := range []struct{ call, body, path string }{
		{"POST /v1/channels/{room}/messages", `{"payload":{"p":WORD}}`, "payload.p"},
		{"POST /v1/channels/{room}/messages", `{"payload":{},"metadata":{"p":WORD}}`, "metadata.p"},
		{"POST /v1/intents/{intent}/channels/new/messages", `{"payload":{"p":WORD}}`, "payload.p"},
		{"POST /v1/channels/{room}/messages/{request}/reply", `{"payload":{"p":WORD}}`, "payload.p"},
		{"POST /v1/channels/{room}/ask", `{"to":"bob","payload":{"p":WORD}}`, "payload.p"},
		{"POST /v1/channels/{room}/ask_all", `{"to":"bob","payload":{"p":WORD}}`, "payload.p"},
	} {
		for _, value := range []struct {
			what, text string
			refused    refusal
		}{
			{"an integer beyond 2^53", `9007199254740993`, badField(place.path)},
			{"the first integer that is not safe", `9007199254740992`, badField(place.path)},
			{"a negative integer beyond 2^53", `-9007199254740993`, badField(place.path)},
			{"a number that overflows", `1e400`, badField(place.path)},
			{"a number that underflows", `1e-400`, badField(place.path)},
			{"a key twice", `{"a":1,"a":1}`, badField(place.path)},
			{"a key twice under escapes", `{"a":1,"\u0061":1}`, badField(place.path)},
			{"U+0000", `"\u0000"`, badField(place.path)},
			{"a lone high surrogate", `"\ud800"`, badField(place.path)},
			{"a lone low surrogate", `"\udc00"`, badField(place.path)},
			{"surrogates in the wrong order", `"\udc00\ud800"`, badField(place.path)},
			{"not a number", `NaN`, badField(place.path)},
			{"infinity", `-Infinity`, badField(place.path)},
			{"a number with a leading zero", `01`, invalid("INVALID_FIELD")},
			{"deep objects", deep, invalid("INVALID_FIELD")},
			{"deep lists", deepList, invalid("INVALID_FIELD")},
			{"very deep and broken", veryDeep, invalid("INVALID_FIELD")},
			{"more than a payload may have", large, tooLarge},
			{"more than a body may have", enormous, bodyTooLarge},
		} {
			attempts = append(attempts, attempt{
				what: value.what, call: place.call, body: replaceWord(place.body, value.text), refused: value.refused,
			})
		}
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}

// These fields have the wrong type or are out of bounds.
func TestWrongFields(t *testing.T) {
	databasetest.OneEngineOf(t)
	var attempts []attempt
	add := func(call, field string, bodies ...string) {
		for _, body := range bodies {
			attempts = append(attempts, attempt{what: body[:min(len(body), 60)], call: call, body: body, refused: badField(field)})
		}
	}
	channels, channel := "POST /v1/intents/{intent}/channels", "PATCH /v1/channels/{room}"
	add(channels, "name", `{}`, ``, `{"name":null}`, `{"name":""}`, `{"name":5}`, `{"name":["a"]}`, `{"name":"a/b"}`,
		`{"name":"a\nb"}`, `{"name":"a\u0085b"}`, `{"name":"\u007f"}`, `{"name":"`+strings.Repeat("n", 129)+`"}`)
	add(channels, "members", `{"name":"x","members":"alice"}`, `{"name":"x","members":{}}`)
	add(channels, "members[0]", `{"name":"x","members":[1]}`, `{"name":"x","members":[null]}`, `{"name":"x","members":[""]}`,
		`{"name":"x","members":["a/b"]}`, `{"name":"x","members":["a\tb"]}`, `{"name":"x","members":["role:reviewer"]}`,
		`{"name":"x","members":["*"]}`)
	add(channels, "options", `{"name":"x","options":[]}`, `{"name":"x","options":"audit"}`)
	add(channels, "options.audit", `{"name":"x","options":{"audit":"yes"}}`, `{"name":"x","options":{"audit":1}}`)
	for _, bad := range []string{`0`, `-1`, `1.5`, `"60"`, `1e30`, `[]`, `9007199254740993`} {
		add(channels, "options.ttl_seconds", `{"name":"x","options":{"ttl_seconds":`+bad+`}}`)
		add(channels, "options.max_messages", `{"name":"x","options":{"max_messages":`+bad+`}}`)
		add(channel, "options.max_messages", `{"options":{"max_messages":`+bad+`}}`)
	}
	for _, bad := range []string{`1`, `101`, `-1`, `2.5`, `"20"`, `[]`} {
		add(channels, "options.turn_budget", `{"name":"x","options":{"turn_budget":`+bad+`}}`)
		add(channel, "options.turn_budget", `{"options":{"turn_budget":`+bad+`}}`)
	}
	for _, bad := range []string{`1`, `1001`, `-1`, `2.5`, `"20"`, `[]`} {
		add(channels, "options.conversation_budget", `{"name":"x","options":{"conversation_budget":`+bad+`}}`)
		add(channel, "options.conversation_budget", `{"options":{"conversation_budget":`+bad+`}}`)
	}
	add(channels, "task_id", `{"name":"x","task_id":"nope"}`, `{"name":"x","task_id":5}`)
	add(channels, "colour", `{"name":"x","colour":"red"}`)
	add(channels, "options.colour", `{"name":"x","options":{"colour":"red"}}`)
	add(channels, "body", `{"name":"x","name":"y"}`)
	add(channels, "id", `{"name":"x","id":"chan_1"}`)
	add(channels, "intent_id", `{"name":"x","intent_id":"{other_intent}"}`)
	add(channel, "id", `{"id":"{other_room}","status":"closed"}`)

	send := "POST /v1/channels/{room}/messages"
	add(send, "payload", `{}`, ``, `{"payload":null}`, `{"payload":[]}`, `{"payload":"x"}`, `{"payload":1}`)
	add(send, "metadata", `{"payload":{},"metadata":[]}`, `{"payload":{},"metadata":"x"}`)
	add(send, "parent_id", `{"payload":{},"parent_id":5}`, `{"payload":{},"parent_id":""}`, `{"payload":{},"parent_id":"nope"}`,
		`{"payload":{},"parent_id":"{other_message}"}`, `{"payload":{},"parent_id":"`+strings.Repeat("m", 129)+`"}`)
	add(send, "subject", `{"payload":{},"subject":5}`, `{"payload":{},"subject":""}`, `{"payload":{},"subject":"a
b"}`,
		`{"payload":{},"subject":"`+strings.Repeat("s", 201)+`"}`)
	add(send, "kind", `{"payload":{},"kind":[]}`, `{"payload":{},"kind":"a\u0007"}`, `{"payload":{},"kind":"`+strings.Repeat("k", 65)+`"}`)
	add(send, "task_id", `{"payload":{},"task_id":5}`, `{"payload":{},"task_id":"nope"}`, `{"payload":{},"task_id":"{room}"}`)
	add(send, "priority", `{"payload":{},"priority":"soon"}`, `{"payload":{},"priority":1}`, `{"payload":{},"priority":"unspecified"}`)
	add(send, "directedness", `{"payload":{},"directedness":"you"}`, `{"payload":{},"directedness":"unspecified"}`)
	add(send, "policy", `{"payload":{},"policy":"must"}`, `{"payload":{},"policy":{}}`)
	add(send, "mentions", `{"payload":{},"mentions":"bob"}`, `{"payload":{},"mentions":{}}`,
		`{"payload":{},"mentions":["b"`+strings.Repeat(`,"b"`, 50)+`]}`)
	add(send, "mentions[0]", `{"payload":{},"mentions":[1]}`, `{"payload":{},"mentions":[null]}`, `{"payload":{},"mentions":["role:"]}`,
		`{"payload":{},"mentions":["*"]}`, `{"payload":{},"mentions":["system"]}`, `{"payload":{},"mentions":["`+strings.Repeat("b", 300)+`"]}`)
	add(send, "mentions[1]", `{"payload":{},"mentions":["bob","bob"]}`)
	asked := `{"payload":{},"to":"bob","message_type":"request","collect":`
	add(send, "collect", asked+`"some"}`, asked+`1}`, asked+`{}}`, asked+`{"quorum":1,"more":1}}`, `{"payload":{},"collect":"one"}`)
	add(send, "collect.quorum", asked+`{"quorum":0}}`, asked+`{"quorum":101}}`, asked+`{"quorum":1.5}}`, asked+`{"quorum":"2"}}`)
	add("POST /v1/channels/{room}/messages/{request}/reply", "collect", `{"payload":{},"collect":"one"}`)
	add("POST /v1/channels/{room}/messages/{request}/reply", "parent_id", `{"payload":{},"parent_id":"{broadcast}"}`)
	add(send, "to", `{"payload":{},"to":5}`, `{"payload":{},"to":["bob"]}`, `{"payload":{},"to":"alice"}`,
		`{"payload":{},"to":"role:"}`, `{"payload":{},"to":"a/b"}`, `{"payload":{},"to":"a\nb"}`,
		`{"payload":{},"to":"`+strings.Repeat("b", 300)+`"}`,
		`{"payload":{},"message_type":"request"}`, `{"payload":{},"message_type":"request","to":"*"}`,
		`{"payload":{},"message_type":"broadcast","to":"bob"}`, `{"payload":{},"message_type":"broadcast","to":"role:reviewer"}`)
	add(send, "sender", `{"payload":{},"sender":{}}`, `{"payload":{},"sender":"`+strings.Repeat("b", 300)+`"}`)
	add(send, "correlation_id", `{"payload":{},"correlation_id":5}`, `{"payload":{},"correlation_id":"{request}"}`,
		`{"payload":{},"message_type":"response"}`, `{"payload":{},"message_type":"response","correlation_id":"nope"}`,
		`{"payload":{},"message_type":"response","correlation_id":"{other_message}"}`)
	add(send, "expires_at", `{"payload":{},"expires_at":5}`, `{"payload":{},"expires_at":"tomorrow"}`,
		`{"payload":{},"expires_at":""}`, `{"payload":{},"expires_at":"2026-13-40T00:00:00Z"}`,
		`{"payload":{},"expires_at":"2026-02-30T00:00:00Z"}`, `{"payload":{},"expires_at":"2001-01-01T00:00:00Z"}`,
		`{"payload":{},"expires_at":"99999-01-01T00:00:00Z"}`, `{"payload":{},"expires_at":"2099-01-01"}`,
		`{"payload":{},"expires_at":"-1"}`, `{"payload":{},"expires_at":"0000-01-01T00:00:00Z"}`)
	add(send, "idempotency_key", `{"payload":{},"idempotency_key":""}`, `{"payload":{},"idempotency_key":5}`,
		`{"payload":{},"idempotency_key":"`+strings.Repeat("k", 256)+`"}`)
	add(send, "channel_id", `{"payload":{},"channel_id":"{other_room}"}`)
	add(send, "id", `{"payload":{},"id":"msg_1"}`)
	add(send, "read_at", `{"payload":{},"read_at":"2099-01-01T00:00:00Z"}`)

	ask := "POST /v1/channels/{room}/ask"
	add(ask, "to", `{"payload":{}}`, `{"payload":{},"to":""}`, `{"payload":{},"to":"*"}`, `{"payload":{},"to":"alice"}`)
	for _, bad := range []string{`0`, `-1`, `601`, `"30"`, `1e999`, `{}`} {
		add(ask, "timeout_seconds", `{"payload":{},"to":"bob","timeout_seconds":`+bad+`}`)
		add(ask, "timeout", `{"payload":{},"to":"bob","timeout":`+bad+`}`)
	}
	add(ask, "timeout", `{"payload":{},"to":"bob","timeout":1,"timeout_seconds":1}`)
	add(ask, "min_responses", `{"payload":{},"to":"bob","min_responses":1}`)
	for _, bad := range []string{`0`, `-1`, `1.5`, `1001`, `"1"`} {
		add("POST /v1/channels/{room}/ask_all", "min_responses", `{"payload":{},"to":"bob","min_responses":`+bad+`}`)
	}
	add("POST /v1/channels/{room}/messages/{request}/reply", "correlation_id", `{"payload":{},"correlation_id":"{request}"}`)
	add("POST /v1/channels/{room}/messages/{request}/reply", "to", `{"payload":{},"to":"alice"}`)
	add("PATCH /v1/channels/{room}/messages/{request}", "status", `{}`, `{"status":"delivered"}`, `{"status":"expired"}`)
	add("POST /v1/channels/{room}/members", "members", `{}`, `{"members":[]}`, `{"members":"bob"}`)
	add("POST /v1/intents", "title", `{}`, ``, `{"title":""}`, `{"title":7}`, `{"title":"`+strings.Repeat("t", 1025)+`"}`)
	add("POST /v1/intents", "state", `{"title":"x","state":[]}`, `{"title":"x","state":7}`)
	add("POST /v1/intents", "confidence", `{"title":"x","confidence":101}`, `{"title":"x","confidence":"high"}`)
	add("POST /v1/intents", "parent_intent_id", `{"title":"x","parent_intent_id":"nope"}`)
	add("POST /v1/intents", "version", `{"title":"x","version":7}`)
	add("POST /v1/agents", "agent_id", `{"agent_id":""}`, `{"agent_id":"a/b"}`, `{"agent_id":"a\nb"}`, `{"agent_id":"operator"}`,
		`{"agent_id":"system"}`, `{"agent_id":"*"}`, `{"agent_id":"role:reviewer"}`)
	addSubscriptionFields(add)
	add("POST /v1/agents", "heartbeat_config.unhealthy_after_seconds",
		`{"heartbeat_config":{"interval_seconds":60,"unhealthy_after_seconds":60}}`)
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}

// addSubscriptionFields adds requests that subscriptions and inboxes cannot fulfil.
func addSubscriptionFields(add func(call, field string, bodies ...string)) {
	create := "POST /v1/subscriptions"
	add(create, "name", `{"name":""}`, `{"name":5}`, `{"name":"a/b"}`, `{"name":"a\nb"}`, `{"name":"default"}`,
		`{"name":"`+strings.Repeat("n", 129)+`"}`)
	add(create, "subscriber_id", `{"subscriber_id":5}`, `{"subscriber_id":"`+strings.Repeat("x", 300)+`"}`)
	add(create, "channel_id", `{"intent_id":"{intent}","channel_id":"{room}"}`, `{"channel_id":["{room}"]}`)
	add(create, "event_types", `{"event_types":"comment"}`)
	add(create, "event_types[0]", `{"event_types":[""]}`, `{"event_types":[5]}`, `{"event_types":["`+strings.Repeat("x", 257)+`"]}`)
	add(create, "message_type", `{"message_type":"letter"}`, `{"message_type":""}`)
	add(create, "expires_at", `{"expires_at":"2001-01-01T00:00:00Z"}`, `{"expires_at":"tomorrow"}`)
	for _, bad := range []string{`0`, `-1`, `1.5`, `"30"`, `99999`} {
		add(create, "acknowledge_seconds", `{"acknowledge_seconds":`+bad+`}`)
		add(create, "max_attempts", `{"max_attempts":`+bad+`}`)
	}
	add(create, "compose", `{"compose":"yes"}`, `{"compose":1}`, `{"compose":true,"webhook_url":"https://example.com/"}`)
	add(create, "digest_seconds", `{"digest_seconds":60,"webhook_url":"https://example.com/"}`)
	add(create, "max_chars", `{"max_chars":2000}`, `{"compose":true,"max_chars":2000}`)
	for _, bad := range []string{`0`, `-1`, `2.5`, `"60"`, `99999`, `[]`} {
		add(create, "digest_seconds", `{"digest_seconds":`+bad+`}`)
		add(create, "max_chars", `{"digest_seconds":60,"max_chars":`+bad+`}`)
	}
	add(create, "use_endpoint", `{"use_endpoint":true,"webhook_url":"https://example.com/"}`, `{"use_endpoint":"yes"}`)
	add(create, "secret", `{"secret":"whsec_x"}`)
	add(create, "acknowledged_through", `{"acknowledged_through":5}`)
	for _, url := range []string{
		"", "nope", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "https://", "https:///path", "http://127.0.0.1/",
		"http://localhost:8000/", "http://[::1]/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://0.0.0.0/",
		"http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "https://user:password@example.com/",
		"https://example.com:99999/", "https://exa mple.com/", "https://" + strings.Repeat("x", 2048),
	} {
		add(create, "webhook_url", `{"webhook_url":"`+url+`"}`)
	}
	acknowledge, redrive := "POST /v1/subscriptions/{subscription}/acknowledge", "POST /v1/subscriptions/{subscription}/dead_letters/redrive"
	for _, call := range []string{acknowledge, redrive} {
		add(call, "numbers[0]", `{"numbers":[0]}`, `{"numbers":[-1]}`, `{"numbers":["1"]}`, `{"numbers":[1.5]}`)
		add(call, "numbers", `{"numbers":5}`, `{"numbers":[`+strings.Repeat("1,", 1000)+`1]}`)
		add(call, "subscription_id", `{"subscription_id":"another"}`)
	}
	add(acknowledge, "numbers", `{}`, `{"numbers":[]}`)
	add(acknowledge, "through", `{"through":0}`, `{"through":-1}`, `{"through":"1"}`, `{"through":1e30}`)
	read := "POST /v1/agents/alice/inbox/read"
	add(read, "message_ids", `{}`, `{"message_ids":[]}`, `{"message_ids":"{request}"}`)
	add(read, "message_ids[0]", `{"message_ids":[""]}`, `{"message_ids":[5]}`)
	add(read, "agent_id", `{"agent_id":"bob","message_ids":["{request}"]}`)
}
