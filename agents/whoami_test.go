package agents

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// A service without a database answers.
func TestWhoAmISaysWhatTheKeyIsGoodFor(t *testing.T) {
	for _, row := range []struct {
		caller caller.Caller
		want   *openintentv1.WhoAmIResponse
	}{
		{
			caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "k", KeyRoles: []string{"reviewer"}},
			&openintentv1.WhoAmIResponse{AgentId: "operator", Operator: true, Roles: []string{"*"}},
		},
		{
			caller.Caller{Agent: "ann", KeyID: "k", KeyAgents: []string{"ann", "bob"}, KeyRoles: []string{"reviewer"}, Human: true},
			&openintentv1.WhoAmIResponse{AgentId: "ann", Roles: []string{"reviewer"}, Human: true},
		},
		{
			caller.Caller{Agent: "guest-ann", Scope: caller.NewScope([]string{"i"}, []string{"c"}), ReadOnly: true},
			&openintentv1.WhoAmIResponse{AgentId: "guest-ann", Guest: true, ReadOnly: true, Intents: []string{"i"}, Channels: []string{"c"}},
		},
	} {
		said, err := new(Service).WhoAmI(asCaller(row.caller), &openintentv1.WhoAmIRequest{})
		require.NoError(t, err)
		require.True(t, proto.Equal(row.want, said), "%v", said)
	}
	_, err := new(Service).WhoAmI(t.Context(), &openintentv1.WhoAmIRequest{})
	require.Equal(t, "UNAUTHENTICATED", fault.From(err).Reason)
}
