package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoTheServerTakesTheCallerFor(t *testing.T) {
	onlyKeys(t, func(t *testing.T, operator shell) {
		require.Equal(t, "agent alice\nroles *", squeezed(operator.does(t, "whoami")))
		t.Setenv("OPENINTENT_AGENT_ID", "")
		require.Equal(t, "agent operator\nkind operator\nroles *", squeezed(operator.does(t, "whoami")))
		reader := operator.does(t, "keys", "create", "a screen", "--bind", "alice", "--human", "--read-only", "--role", "desk", "--role", "data")
		require.Equal(t, "agent alice\nkind human, read-only\nroles desk, data", squeezed(operator.with(reader)(t, "whoami").stdout))
		placed := operator.run(t.Context(), "keys", "create", "placed", "--bind", "bob", "--intent", "i", "--intent", "j", "--channel", "c")
		with := operator.with(strings.TrimSpace(placed.stdout))
		require.Equal(t, "agent bob\nintents i, j\nchannels c", squeezed(with(t, "whoami").stdout))
		require.Contains(t, with(t, "whoami", "--json").stdout, `"agent_id":"bob"`)
		require.Equal(t, exitRefused, operator.with("wrong")(t, "whoami").exit)
	})
}
