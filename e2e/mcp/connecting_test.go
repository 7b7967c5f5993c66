package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// Clients of both kinds of revision find the same tools, and the same agent in themselves.
func TestClientsOfAllRevisionsConnect(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var known []string
		for _, revision := range []string{newest, older, "2025-06-18"} {
			ann := h.connect(t, harness.Key, "ann", revision, nil)
			answer, _ := ann.call(t, "whoami", nil)
			require.Equal(t, "ann", answer["agent"])
			listed, err := ann.ListTools(t.Context(), nil)
			require.NoError(t, err)
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
			require.Contains(t, names, "whoami")
			if known != nil {
				require.Equal(t, known, names)
			}
			known = names
		}
	})
}
