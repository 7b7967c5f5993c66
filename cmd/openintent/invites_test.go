package main

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var joinForm = regexp.MustCompile(`(?m)^OPENINTENT_API_KEY=(oi_[0-9A-Za-z]{49}) OPENINTENT_AGENT_ID=(\S+)$`)

func TestAnInviteIsMadeUsedAndRevoked(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		made := alice.run(t.Context(), "invites", "create", "data", "--guest", "guest-eve", "--uses", "2", "--label", "for a friend")
		require.Equal(t, exitOK, made.exit, made.stderr)
		lines := joinForm.FindAllStringSubmatch(made.stdout, -1)
		require.Len(t, lines, 2, made.stdout)
		require.Equal(t, "guest-eve", lines[0][2])
		require.Equal(t, "guest-NAME", lines[1][2])
		id := keyIDForm.FindString(made.stderr)
		require.Regexp(t, "^The invite "+id+" lets in 2, until .+ Give the other side this line now; nobody can show the key again.\n$", made.stderr)

		guest := shell{server: alice.server, key: lines[0][1], agent: "guest-eve"}
		require.Contains(t, guest.refused(t, exitRefused, "channels", "list"), "[OUT_OF_SCOPE]")
		channel := idForm.FindString(alice.does(t, "channels", "list"))
		require.Contains(t, guest.does(t, "channels", "show", channel), "guest-eve")
		require.Contains(t, squeezed(guest.does(t, "whoami")), "agent guest-eve\nkind guest\n")
		alice.does(t, "notify", "data", "guest-eve", `{"n": 1}`)
		require.Equal(t, 1, rows(guest.does(t, "inbox")))
		guest.does(t, "notify", channel, "alice", `{"n": 2}`)

		listed := squeezed(masked(alice.does(t, "invites", "list", "data")))
		require.Regexp(t, "^INVITE STATUS GUESTS OF EXPIRES LAST USED LABEL\n"+id+" active guest-eve 2 TIME (TIME )?for a friend$", listed)
		require.Contains(t, squeezed(alice.does(t, "invites", "revoke", "data", id)), "status revoked")
		require.Equal(t, exitRefused, guest.run(t.Context(), "inbox").exit)
		require.Contains(t, alice.refused(t, exitNotFound, "invites", "revoke", "data", "key_x"), "[INVITE_NOT_FOUND]")
		require.Contains(t, alice.refused(t, exitUsage, "invites", "create", "data", "--guest", "eve"), "begins with guest-")
		printed := alice.run(t.Context(), "invites", "create", "data", "--json", "--read-only", "--expires", "1h").stdout
		require.Contains(t, printed, `"secret":"oi_`)
		require.Contains(t, printed, `"read_only":true`)
		var brief struct {
			Invite struct {
				ExpiresAt time.Time `json:"expires_at"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(printed), &brief))
		require.WithinDuration(t, time.Now().Add(time.Hour), brief.Invite.ExpiresAt, 10*time.Minute)
	})
}
