package caller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/fault"
)

func TestOnlyAKnownCallerIsServed(t *testing.T) {
	_, err := Known(t.Context())
	require.Equal(t, "UNAUTHENTICATED", fault.From(err).Reason)
	found, err := Known(NewContext(t.Context(), Caller{Agent: "ann"}))
	require.NoError(t, err)
	require.Equal(t, "ann", found.Agent)
}

func TestWhoSpeaksForAnAgent(t *testing.T) {
	for _, c := range []Caller{{Agent: "ann"}, {Agent: "bob", KeyAgents: []string{"bob", "ann"}}, {Agent: Operator, IsOperator: true}} {
		require.True(t, c.Owns("ann"))
		require.NoError(t, c.CheckOwns("ann"))
	}
	eve := Caller{Agent: "eve", KeyAgents: []string{"eve"}}
	require.False(t, eve.Owns("ann"))
	require.Equal(t, "NOT_AGENT_OWNER", fault.From(eve.CheckOwns("ann")).Reason)
}
