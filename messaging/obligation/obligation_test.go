package obligation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
)

func TestWhoDischargesAnObligation(t *testing.T) {
	for name, row := range map[string]struct {
		delegate, agent string
		operator        bool
		may             bool
	}{
		"the author":              {"", "ann", false, true},
		"the delegate":            {"del", "del", false, true},
		"another":                 {"del", "bob", false, false},
		"nobody without delegate": {"", "", false, false},
		"the operator":            {"del", "", true, true},
	} {
		o := Obligation{Author: "ann", Target: "bob", Delegate: row.delegate}
		require.Equal(t, row.may, o.MayDischarge(row.agent, row.operator), name)
	}
}

func TestADischargeEndsTheSteps(t *testing.T) {
	o := Obligation{Author: "ann", Step: 2, DueAt: after(10), PausedAt: nine}
	require.True(t, o.Open())
	o.close(endedByServer(after(5)))
	require.False(t, o.Open())
	require.Equal(t, Obligation{Author: "ann", Step: 2, Discharge: Discharge{At: after(5), By: caller.System}}, o)
}
