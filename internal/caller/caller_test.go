package caller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
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

func TestARoleIsTakenByWhoseKeyListsIt(t *testing.T) {
	for _, row := range []struct {
		caller    Caller
		role      string
		mayTakeIt bool
	}{
		{Caller{Agent: "ann"}, "reviewer", false},
		{Caller{Agent: "ann", KeyRoles: []string{}}, "reviewer", false},
		{Caller{Agent: "ann"}, "", true},
		{Caller{Agent: "ann", KeyRoles: []string{"writer"}}, "reviewer", false},
		{Caller{Agent: "ann", KeyRoles: []string{"writer"}}, "*", false},
		{Caller{Agent: "ann", KeyRoles: []string{"writer", "reviewer"}}, "reviewer", true},
		{Caller{Agent: "ann", KeyRoles: []string{AnyRole}}, "reviewer", true},
		{Caller{Agent: Operator, IsOperator: true}, "reviewer", true},
	} {
		require.Equal(t, row.mayTakeIt, row.caller.MayTakeRole(row.role), "%+v", row)
	}
}

func TestWhoActsAsAnother(t *testing.T) {
	bound := Caller{Agent: "ann", KeyAgents: []string{"ann", "bob"}}
	operator := Caller{Agent: Operator, IsOperator: true}
	for _, row := range []struct {
		caller        Caller
		named, actor  string
		reason, field string
	}{
		{bound, "", "ann", "", ""},
		{bound, "ann", "ann", "", ""},
		{bound, "bob", "", "SENDER_MISMATCH", ""},
		{Caller{Agent: "guest-eve"}, "guest-eve", "guest-eve", "", ""},
		{operator, "", Operator, "", ""},
		{operator, "bob", "bob", "", ""},
		{operator, "guest-eve", "", "INVALID_FIELD", "sender"},
	} {
		actor, err := row.caller.ActAs("sender", row.named)
		if row.reason == "" {
			require.NoError(t, err, "%+v", row)
			require.Equal(t, row.actor, actor)
			continue
		}
		refusal := fault.From(err)
		require.Equal(t, row.reason, refusal.Reason, "%+v", row)
		if row.field != "" {
			require.Equal(t, row.field, refusal.Fields[0].Path)
		}
	}
}
