package repomesh

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"openintent/internal/fault"
)

// chat is the type of an ordinary message.
const chat = "agent.chat"

// legacyTypes are older names of chat.
var legacyTypes = []string{"agent.message", "chat.message"}

// severities are the words for how serious an event is.
var severities = []string{"info", "warning", "error"}

// member is a field of a type's payload.
type member struct {
	name string
	// right tells whether a value is of the field's type, and form says in words which that is.
	right func(value any) bool
	form  string
	// needed is true if an event of the type has no meaning without it.
	needed bool
}

func (m member) must() member {
	m.needed = true
	return m
}

func words(name string) member {
	return member{name: name, form: "a text", right: func(v any) bool { _, ok := v.(string); return ok }}
}

func count(name string) member {
	return member{name: name, form: "a whole number, 0 or more", right: func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= 0 && n == float64(int64(n))
	}}
}

func percent(name string) member {
	return member{name: name, form: "a number from 0 to 100", right: func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= 0 && n <= 100
	}}
}

func texts(name string) member {
	return member{name: name, form: "a list of texts", right: func(v any) bool {
		items, ok := v.([]any)
		return ok && !slices.ContainsFunc(items, func(item any) bool { _, isText := item.(string); return !isText })
	}}
}

func severity(name string) member {
	return member{name: name, form: "info, warning or error", right: func(v any) bool {
		word, ok := v.(string)
		return ok && slices.Contains(severities, word)
	}}
}

func anything(name string) member {
	return member{name: name, form: "anything", right: func(any) bool { return true }}
}

// failuresMember has the failed tests of a result: objects that name their test.
var failuresMember = member{name: "failures", form: "a list of objects with test, error and message", right: func(v any) bool {
	items, ok := v.([]any)
	return ok && !slices.ContainsFunc(items, func(item any) bool {
		failed, isObject := item.(map[string]any)
		name, named := failed["test"].(string)
		return !isObject || !named || name == "" || !textOrNone(failed["error"]) || !textOrNone(failed["message"])
	})
}}

func textOrNone(v any) bool {
	_, isText := v.(string)
	return v == nil || isText
}

// registry has the fields of the registered types. Those that say who acts may be left out everywhere: the key says it. Other types are
// free.
var registry = map[string][]member{
	chat:                  {words("content").must()},
	"handshake.request":   {words("agent_type"), anything("capabilities")},
	"handshake.accept":    {words("message")},
	"handshake.confirmed": {words("message")},
	"contact.establish":   {words("message")},
	"contact.confirmed":   {words("message")},
	"task.created":        {words("goal").must(), count("priority"), words("assignee")},
	"task.claimed":        {count("lease_ttl")},
	"task.progress":       {percent("progress_percent"), words("summary")},
	"task.completed":      {words("result_summary")},
	"task.blocked":        {words("blocked_reason")},
	"review.started":      {count("file_count")},
	finding: {
		words("file_path").must(), words("message").must(), count("line_number"), severity("severity"), words("suggestion"), words("code_snippet"),
	},
	"review.completed":   {count("findings_count"), count("warnings"), count("errors")},
	"test.started":       {words("suite_name"), count("test_count")},
	"test.result":        {count("passed").must(), count("failed").must(), words("suite_name"), count("skipped"), count("total"), count("duration_ms"), failuresMember, texts("artifacts")},
	"test.completed":     {count("total"), count("passed"), count("failed"), texts("artifacts")},
	"lock.acquired":      {words("lock_id").must(), words("resource_key"), count("ttl")},
	"lock.renewed":       {words("lock_id").must(), count("new_ttl")},
	"lock.released":      {words("lock_id").must(), words("reason")},
	"lock.auto_released": {words("lock_id").must(), words("last_heartbeat")},
	"agent.error":        {words("original_action").must(), words("error_code").must(), words("message").must(), count("retry_after_ms"), count("retry_count")},
}

// ofTasks are the beginnings of types that are about a task and mean nothing without one.
var ofTasks = []string{"task.", "review."}

// typeOf returns the type under which an event is stored, and the legacy name that it came with.
func typeOf(said string) (name, legacy string, _ error) {
	switch {
	case said == "" || utf8.RuneCountInString(said) > 64:
		return "", "", fault.BadField("type", "must be a name of 1 to 64 characters, such as %s.", chat)
	case slices.Contains(legacyTypes, said):
		return chat, said, nil
	}
	return said, "", nil
}

// check refuses a payload that does not fit its type.
func check(name string, payload map[string]any, task string) error {
	for _, m := range registry[name] {
		value := payload[m.name]
		switch {
		case value == nil && m.needed:
			return fault.BadField("payload."+m.name, "is missing; %s needs it: %s.", name, m.form)
		case value != nil && !m.right(value):
			return fault.BadField("payload."+m.name, "must be %s.", m.form)
		}
	}
	_, registered := registry[name]
	if registered && task == "" && slices.ContainsFunc(ofTasks, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
		return fault.BadField("payload.task_id", "is missing; %s is about a task.", name)
	}
	return nil
}

// values decodes an object.
func values(object []byte) (map[string]any, error) {
	decoded := make(map[string]any)
	if err := json.Unmarshal(object, &decoded); err != nil {
		return nil, fault.BadField("payload", "must be an object.")
	}
	return decoded, nil
}
