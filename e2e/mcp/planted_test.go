package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

// Whatever is wrong with an argument of a tool, the refusal names the argument, and no argument makes the server fail. What the engines could
// take differently is refused before it reaches them, so one of them is enough.
func TestRefusalsNameTheArgumentThatIsWrong(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.MaxPayloadBytes = long / 2 }})}
	for profile, tools := range usual(t, h) {
		ann := h.connectTo(t, "/mcp?tools="+profile, harness.Key, "ann", newest, nil)
		if profile == "" {
			ann = h.join(t, "ann")
		}
		listed, err := ann.ListTools(t.Context(), &sdk.ListToolsParams{})
		require.NoError(t, err)
		for _, tool := range listed.Tools {
			given, known := tools[tool.Name]
			require.True(t, known, "%s has no usual arguments", tool.Name)
			for _, name := range append(schemaOf(t, tool).paths(), unlisted[tool.Name]...) {
				for _, value := range wrong {
					ann.plants(t, tool.Name, given(), name, value)
				}
			}
		}
	}
}

// long is how many characters are more than any argument may have that is no object of its own.
const long = 4000

// usual are arguments with which each tool of each profile does something, or is refused for a reason that is in none of them.
func usual(t *testing.T, h *house) map[string]map[string]func() arguments {
	t.Helper()
	bob := h.join(t, "bob")
	intent := bob.intent(t, "Plan", nil)
	room := bob.open(t, intent, "room")
	asked := bob.ask(t, room, "ann", "which?", nil)
	always := func(given arguments) func() arguments {
		return func() arguments {
			made := arguments{}
			maps.Copy(made, given)
			return made
		}
	}
	mesh := h.connectTo(t, "/mcp?tools=repomesh", harness.Key, "ann", newest, nil)
	event, _ := mesh.call(t, "event.log", arguments{"payload": object{"content": "x"}})
	task, _ := mesh.call(t, "task.create", arguments{"goal": "g"})
	lock, _ := mesh.call(t, "lock.acquire", arguments{"resource_key": "r"})
	log := h.connectTo(t, "/mcp?tools=agent-channel", harness.Key, "ann", newest, nil)
	made, _ := log.call(t, "channel.create", arguments{"title": "log"})
	return map[string]map[string]func() arguments{
		"": {
			"whoami": always(nil), "channels": always(nil), "join": always(arguments{"intent": intent, "channel": "room"}),
			"send":  always(arguments{"channel": room, "text": "x"}),
			"ask":   always(arguments{"channel": room, "to": "bob", "text": "x", "timeout_s": 0.01}),
			"reply": always(arguments{"message": asked, "text": "x"}), "inbox": always(nil),
			"wait": always(arguments{"for": "inbox", "timeout_s": 0}), "read": always(arguments{"channel": room}),
			"mark":  always(arguments{"messages": []any{asked}, "signal": "seen"}),
			"claim": always(arguments{"message": asked}), "status": always(nil),
		},
		"agent-channel": {
			"channel.create": always(arguments{"title": "log"}), "channel.list": always(nil), "channel.read": always(arguments{"channel": made["id"]}),
			"channel.state": always(arguments{"channel": made["id"]}), "channel.spec": always(arguments{"channel": made["id"]}),
			"channel.events": always(arguments{"channel": made["id"]}),
			"channel.post":   always(arguments{"channel": made["id"], "kind": "spec", "payload": object{"a": "b"}}),
			"channel.close":  always(arguments{"channel": "none"}),
		},
		"c2a": {
			"chat.list_events": always(nil), "chat.read_thread": always(arguments{"conversationId": room}),
			"chat.send_message": always(arguments{
				"target": object{"conversationId": room, "recipient": "agent:bob"}, "content": "x", "idempotencyKey": "k", "visibility": "dm",
				"directedness": "to_me",
			}),
			"chat.react": always(arguments{"inReplyTo": asked, "signal": "seen"}), "chat.claim": always(arguments{"inReplyTo": asked}),
			"chat.defer": always(arguments{"inReplyTo": asked, "reason": "r"}), "chat.resolve": always(arguments{"inReplyTo": asked}),
		},
		"repomesh": {
			"event.log": always(arguments{"payload": object{"content": "x"}}), "event.list": always(nil), "event.inbox": always(nil),
			"event.search": always(arguments{"keyword": "x"}), "event.thread": always(arguments{"message_id": event["id"]}),
			"lock.acquire": always(arguments{"resource_key": "r"}), "lock.renew": always(arguments{"lock_id": lock["lock_id"]}),
			"lock.release": always(arguments{"lock_id": "none"}), "task.create": always(arguments{"goal": "g"}), "task.list": always(nil),
			"task.claim": always(nil), "task.update": always(arguments{"task_id": task["task_id"]}),
			"agent.register": always(nil), "agent.heartbeat": always(nil), "agent.list": always(nil),
		},
	}
}

// schema is the part of a JSON Schema that lists arguments.
type schema struct {
	Properties map[string]schema `json:"properties"`
}

// paths returns the paths of all arguments.
func (s schema) paths() (all []string) {
	for name, one := range s.Properties {
		all = append(all, name)
		for _, within := range one.paths() {
			all = append(all, name+"."+within)
		}
	}
	return all
}

func schemaOf(t *testing.T, tool *sdk.Tool) (made schema) {
	t.Helper()
	text, err := json.Marshal(tool.InputSchema)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &made))
	return made
}

// wrong are values that are wrong for most arguments: with a character that no text may have, too long, of more than one line, out of
// bounds, and of other types.
var wrong = []any{
	"a\x00b", object{"a": "\x00"}, strings.Repeat("x", long), object{"x": strings.Repeat("x", long)}, "a\nb", "a/b", -1, []any{7},
}

// unlisted are arguments that no schema lists.
var unlisted = map[string][]string{"event.log": {
	"payload.content", "payload.to", "payload.recipient_id", "payload.subject", "payload.parent_message_id", "payload.reply_to", "payload.task_id",
	"payload.mentions", "payload.metadata", "payload.timestamp", "payload.free",
}}

// plants calls a tool with a wrong value for an argument.
func (a *agent) plants(t *testing.T, tool string, given arguments, name string, wrong any) {
	t.Helper()
	inner, last := given, name
	if outer, within, nested := strings.Cut(name, "."); nested {
		inner, last = maps.Clone(given[outer].(object)), within
		given[outer] = inner
	}
	inner[last] = wrong
	result, text := a.try(t, tool, given)
	written, err := json.Marshal(wrong)
	require.NoError(t, err)
	what := fmt.Sprintf("%s with %s %.40s: %.300s", tool, name, written, text)
	zero := strings.Contains(string(written), "\\u0000")
	if !result.IsError {
		assert.False(t, zero, what)
		return
	}
	var said struct {
		Refused, Message string
		Payload          struct{ Reason, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &said), text)
	reason, message := said.Refused+said.Payload.Reason, said.Message+said.Payload.Message
	if zero || slices.Contains([]string{"INVALID_FIELD", "TOO_LARGE", "PAYLOAD_TOO_LARGE"}, reason) {
		field, _, _ := strings.Cut(message, ":")
		among := regexp.MustCompile(`\b` + last + `\b.* must be given`).MatchString(message) // one of several
		whole := reason == "PAYLOAD_TOO_LARGE" && strings.HasPrefix(name, field+".")         // no part of it is too large by itself
		assert.True(t, field == name || strings.HasPrefix(field, name+".") || strings.HasPrefix(field, name+"[") || among || whole, what)
	}
	assert.NotEqual(t, "INTERNAL", reason, what)
}
