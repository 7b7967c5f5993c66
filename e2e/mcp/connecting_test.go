package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// Several harnesses send the name of a variable as it stands. The refusal says so, and shows nothing of it.
func TestTheNameOfAVariableIsNoKey(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	for _, named := range []string{"${OPENINTENT_API_KEY}", "$OPENINTENT_API_KEY", "{env:OPENINTENT_API_KEY}", "%OPENINTENT_API_KEY%"} {
		answer := h.With(named, "ann").REST(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		require.Equal(t, 401, answer.Status)
		require.Contains(t, string(answer.Body), "the name of a variable and not its value")
		require.NotContains(t, string(answer.Body), "OPENINTENT_API_KEY")
		require.Contains(t, answer.Header.Get("WWW-Authenticate"), "Bearer")
	}
}

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
