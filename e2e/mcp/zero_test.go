package mcp

import (
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The names of tools, resources and tasks may have U+0000, too. They then name nothing that exists, and the server does not fail.
func TestTheZeroCharacterNamesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		for _, uri := range []string{"openintent://intents/a%00b", "openintent://channels/%00", "openintent://agents/a%00/inbox"} {
			_, err := ann.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			require.ErrorContains(t, err, "Resource not found", uri)
		}
		_, err := ann.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "a\x00b"})
		require.ErrorContains(t, err, "cursor")
		answer := h.With(harness.Key, "ann").REST(t, "POST", "/mcp?tools=a%00b", "{}")
		require.Equal(t, 400, answer.Status, "%s", answer.Body)
		require.Contains(t, string(answer.Body), "PROFILE_UNKNOWN")
		ann.call(t, "whoami", nil)
	})
}
