package keys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

func TestAnInviteLastsAWeekUnlessItsMakerSays(t *testing.T) {
	d := InviteDraft{Label: "x"}
	require.NoError(t, d.check(nine))
	require.Equal(t, time.Date(2026, time.November, 8, 9, 0, 0, 0, time.UTC), d.ExpiresAt)
	longest := time.Date(2027, time.January, 30, 9, 0, 0, 0, time.UTC) // 90 days
	for at, fits := range map[time.Time]bool{nine: false, nine.Add(1): true, longest: true, longest.Add(1): false} {
		d := InviteDraft{Label: "x", ExpiresAt: at}
		err := d.check(nine)
		if fits {
			require.NoError(t, err, at)
			require.Equal(t, at, d.ExpiresAt)
			continue
		}
		requireFault(t, err, fault.Invalid, "INVALID_FIELD")
		require.Equal(t, "expires_at", fault.From(err).Fields[0].Path, at)
	}
}

func TestAnInviteIsForItsGuests(t *testing.T) {
	for name, row := range map[string]struct {
		most, room int
		expected   []string
		field      string
	}{
		"one guest":                {0, 1, nil, ""},
		"those that it names":      {0, 2, []string{"guest-a", "guest-b"}, ""},
		"exactly as many":          {2, 2, []string{"guest-a", "guest-b"}, ""},
		"more than it names":       {3, 3, []string{"guest-a"}, ""},
		"fewer than it names":      {1, 0, []string{"guest-a", "guest-b"}, "max_agents"},
		"somebody who is no guest": {2, 0, []string{"guest-a", "bob"}, "agents[1]"},
	} {
		d := InviteDraft{Label: "x", Invite: Invite{MaxAgents: row.most, Expected: row.expected}}
		err := d.check(nine)
		if row.field == "" {
			require.NoError(t, err, name)
			require.Equal(t, row.room, d.Invite.MaxAgents, name)
			continue
		}
		requireFault(t, err, fault.Invalid, "INVALID_FIELD")
		require.Equal(t, row.field, fault.From(err).Fields[0].Path, name)
	}
	d := InviteDraft{Label: "a\x00b"}
	requireFault(t, d.check(nine), fault.Invalid, "INVALID_FIELD")
}

// Guests that are expected have their places, whether they have come or not.
func TestAnInviteIsUsedUpByThoseThatCameAndThoseThatAreExpected(t *testing.T) {
	k := Key{Settings: Settings{Agents: []string{"guest-a", "guest-b"}, Invite: &Invite{MaxAgents: 4, Expected: []string{"guest-c"}}}}
	require.NoError(t, k.UsedUp())
	k.Invite.MaxAgents = 3
	require.ErrorIs(t, k.UsedUp(), errUsedUp)
}
