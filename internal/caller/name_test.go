package caller_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

func TestCheckNameRefusesWhatNoAgentCanBeCalled(t *testing.T) {
	for _, name := range []string{
		"a", "agent-1", "Ann Smith", "ä", "role", "operator2", "System", "a*", strings.Repeat("ü", caller.MaxNameLength),
	} {
		require.NoError(t, caller.CheckName("to", name), "%q", name)
	}
	for _, name := range []string{
		"", strings.Repeat("a", caller.MaxNameLength+1), "a/b", "a\x00", "a\nb", "a\u0085b", "a\xff",
		caller.Operator, caller.System, caller.Broadcast, caller.RolePrefix, caller.RolePrefix + "x",
	} {
		requireBadField(t, caller.CheckName("to", name), "to")
	}
}

func TestCheckTextRefusesWhatCannotBeStored(t *testing.T) {
	for _, text := range []string{"", "a\nb", "a/b", "\U0001f600", strings.Repeat("a", 10_000)} {
		require.NoError(t, caller.CheckText("title", text), "%q", text)
	}
	for _, text := range []string{"\x00", "a\x00b", "\xff", "a\xc3"} {
		requireBadField(t, caller.CheckText("title", text), "title")
	}
}

func requireBadField(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *fault.Fault
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, fault.Invalid, refusal.Kind)
	require.Equal(t, "INVALID_FIELD", refusal.Reason)
	require.Len(t, refusal.Fields, 1)
	require.Equal(t, field, refusal.Fields[0].Path)
	require.NotEmpty(t, refusal.Fields[0].Description)
}

func TestCheckGuestNameWantsMoreThanThePrefix(t *testing.T) {
	require.NoError(t, caller.CheckGuestName("agent_id", "guest-researcher"))
	for _, name := range []string{"guest-", "guest", "researcher", "Guest-researcher", "guest-a/b"} {
		requireBadField(t, caller.CheckGuestName("agent_id", name), "agent_id")
	}
}
