package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A refusal names the argument that the model filled in, whatever the contract calls the field.
func TestRefusalsNameTheArguments(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		room := ann.open(t, intent, "room")
		long := strings.Repeat("x", 1000)
		for _, row := range []struct {
			tool  string
			given arguments
			field string
		}{
			{"send", arguments{"channel": room, "text": "a\x00b"}, "text"},
			{"send", arguments{"channel": room, "payload": object{"a": "b\x00"}}, "payload.a"},
			{"send", arguments{"channel": room, "text": "x", "thread": "no id"}, "thread"},
			{"send", arguments{"channel": room, "text": "x", "expires_s": -1}, "expires_s"},
			{"send", arguments{"channel": room, "text": "x", "key": long}, "key"},
			{"send", arguments{"channel": room, "text": "x", "to": long}, "to"},
			{"ask", arguments{"channel": room, "to": "bob", "text": "x", "collect": 2}, "collect"},
			{"ask", arguments{"channel": room, "to": "bob", "text": "x", "key": long}, "key"},
			{"join", arguments{"intent": intent, "channel": "a/b", "create": true}, "channel"},
			{"claim", arguments{"resource": intent + "/" + long, "ttl_s": 10}, "resource"},
			{"claim", arguments{"resource": intent + "/x", "ttl_s": 1_000_000_000}, "ttl_s"},
			{"read", arguments{"query": strings.Repeat("word ", 20)}, "query"},
		} {
			said := ann.refused(t, row.tool, row.given)
			require.Equal(t, "INVALID_FIELD", said.Refused, "%v %s", row.given, said.Message)
			assert.True(t, strings.HasPrefix(said.Message, row.field+":"), "%s: %s", row.field, said.Message)
		}
	})
}
