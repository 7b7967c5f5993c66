package c2a

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
)

// The door refuses a request with U+0000 and names the argument that has it. The connection goes on.
func TestTheZeroCharacterIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Dial(t, &h.Clients, harness.Key, "bob")
		bob.Initialize(t, "a\x00b", object{"delivery": object{"compose": false}, "\x00": "\x00"}) // it names no draft, and gets the newest
		for field, given := range map[string]object{
			"inReplyTo": {"inReplyTo": "a\x00", "signal": "seen"}, "note": {"inReplyTo": "a", "signal": "seen", "note": "\x00"},
		} {
			answer := bob.Call(t, "tools/call", object{"name": "chat.react", "arguments": given})
			require.Nil(t, answer.Error)
			var said struct {
				StructuredContent struct{ Refused, Message string }
			}
			require.NoError(t, json.Unmarshal(answer.Result, &said))
			require.Equal(t, "INVALID_FIELD", said.StructuredContent.Refused)
			require.Regexp(t, "^"+field+":", said.StructuredContent.Message)
		}
		require.Equal(t, "TOOL_UNKNOWN", bob.Call(t, "tools/call", object{"name": "a\x00"}).Error.Data.Reason)
		require.Equal(t, "METHOD_UNKNOWN", bob.Call(t, "a\x00", nil).Error.Data.Reason)
		bob.Say(t, object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{"progress": 1, "message": "a\x00b"}})
		bob.Say(t, object{"jsonrpc": "2.0", "id": "\x00", "result": object{}})
		s.ready(t, bob)
	})
}
