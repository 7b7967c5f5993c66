package mcp

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// toolSchema is the schema of a tool's arguments.
type toolSchema struct {
	Properties map[string]struct {
		Type    any      `json:"type"`
		Minimum *float64 `json:"minimum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// toolsAt lists the schemas of the tools at a path.
func (h *house) toolsAt(t *testing.T, path string) map[string]toolSchema {
	t.Helper()
	listed, err := h.connectTo(t, path, harness.Key, "ann", newest, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	schemas := make(map[string]toolSchema)
	for _, tool := range listed.Tools {
		var schema toolSchema
		require.NoError(t, json.Unmarshal([]byte(written(t, tool.InputSchema)), &schema))
		schemas[tool.Name] = schema
	}
	return schemas
}

// Harnesses drop an argument without a type, and its description with it.
func TestEveryArgumentHasAType(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	for _, path := range []string{"/mcp", "/mcp?tools=agent-channel"} {
		for tool, schema := range h.toolsAt(t, path) {
			for name, property := range schema.Properties {
				require.NotNil(t, property.Type, "%s of %s", name, tool)
			}
		}
	}
}

// Under strict schemas, models fill in all arguments. What they fill in for nothing counts as left out, on every tool.
func TestWhatStandsForNothingIsLeftOut(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		room := ann.open(t, intent, "room")
		// calls are one call of each tool, with as few arguments as it needs.
		calls := map[string]func() arguments{
			"whoami": func() arguments { return arguments{} }, "channels": func() arguments { return arguments{} },
			"inbox": func() arguments { return arguments{} }, "status": func() arguments { return arguments{} },
			"join": func() arguments { return arguments{"intent": intent, "channel": "room"} },
			"send": func() arguments { return arguments{"channel": room, "text": "x"} },
			"ask": func() arguments {
				return arguments{"channel": room, "to": "nobody", "text": "?", "timeout_s": 0.01}
			},
			"reply": func() arguments { return arguments{"message": ann.ask(t, room, "bob", "say", nil), "text": "said"} },
			"wait":  func() arguments { return arguments{"for": "inbox", "timeout_s": 0} },
			"read":  func() arguments { return arguments{"channel": room} },
			"mark":  func() arguments { return arguments{"messages": []string{ann.tell(t, room, "mark")}, "signal": "seen"} },
			"claim": func() arguments { return arguments{"message": ann.tell(t, room, "claim")} },
		}
		schemas := h.toolsAt(t, "/mcp")
		require.Len(t, calls, len(schemas), "every tool has a call here")
		for tool, schema := range schemas {
			all := calls[tool]()
			for name, property := range schema.Properties {
				if slices.Contains(schema.Required, name) {
					continue
				}
				for _, nothing := range nothings(t, property.Type, property.Minimum) {
					given := calls[tool]()
					if _, needed := given[name]; needed {
						continue
					}
					given[name], all[name] = nothing, nothing
					result, said := bob.try(t, tool, given)
					require.False(t, result.IsError, "%s with %s=%v: %s", tool, name, nothing, said)
				}
			}
			result, said := bob.try(t, tool, all)
			require.False(t, result.IsError, "%s with everything: %s", tool, said)
		}
		require.Contains(t, bob.refused(t, "reply", arguments{"message": "", "text": "x"}).Message, "message: is missing")
		require.Contains(t, bob.refused(t, "wait", arguments{"for": "inbox", "timeout_s": -1}).Message, "timeout_s: must be from 0")
	})
}

// nothings are what stands for nothing in an argument of a type.
func nothings(t *testing.T, kind any, minimum *float64) []any {
	t.Helper()
	switch kind {
	case "string":
		return []any{nil, ""}
	case "integer", "number":
		if minimum != nil && *minimum == 0 {
			return []any{nil}
		}
		return []any{nil, 0}
	case "boolean":
		return []any{nil, false}
	case "array":
		return []any{nil, []string{}}
	}
	require.Equal(t, "object", kind)
	return []any{nil, object{}}
}

// The door passes over members that a harness adds to every call for itself. It refuses a misspelt argument, and lists the right names.
func TestArgumentsThatAToolDoesNotHave(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		ann.call(t, "whoami", arguments{"wait_for_previous": false})
		ann.call(t, "wait", arguments{"for": "inbox", "timeout_s": 0, "wait_for_previous": true})
		said := ann.refused(t, "wait", arguments{"for": "inbox", "timeout": 1})
		require.Equal(t, "INVALID_FIELD", said.Refused)
		require.Contains(t, said.Message, "timeout: is no argument of wait")
		require.Contains(t, said.Message, "timeout_s")
		for path, tool := range map[string]string{"/mcp?tools=c2a": "chat.list_events", "/mcp?tools=repomesh": "agent.list"} {
			harnessed := h.connectTo(t, path, harness.Key, "ann", newest, nil)
			result, line := harnessed.try(t, tool, arguments{"wait_for_previous": true})
			require.False(t, result.IsError, line)
		}
	})
}
