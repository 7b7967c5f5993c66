package keys

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatPausesAMakersWorks(t *testing.T) {
	for name, row := range map[string]struct {
		fate   fate
		reason string
	}{
		"goes on":             {fate{}, ""},
		"revoked":             {fate{revokedAt: nine.Add(time.Hour)}, PausedRevoked},
		"before it expires":   {fate{expiresAt: nine.Add(1)}, ""},
		"when it expires":     {fate{expiresAt: nine}, PausedExpired},
		"expired and revoked": {fate{revokedAt: nine, expiresAt: nine}, PausedRevoked},
	} {
		require.Equal(t, row.reason, row.fate.reason(nine), name)
	}
}

func TestAKeyOfTheConfigurationIsRemovedOnceItIsNotThere(t *testing.T) {
	const present, gone = "0123456789abcdef", "fedcba9876543210"
	s := new(Service)
	require.Empty(t, s.removed(gone), "before serving, none counts as removed")
	s.KnowConfigured(func(id string) bool { return id == present })
	require.Equal(t, PausedRemoved, s.removed(gone))
	for _, id := range []string{"", present, newID(), gone + "0", gone[1:], strings.ToUpper(gone)} {
		require.Empty(t, s.removed(id), id)
	}
	require.Empty(t, s.Paused(new(Key)), "only an invite pauses")
}

func TestAnInviteIsAcceptedUntilItsMakersKeyExpires(t *testing.T) {
	early, late := nine, nine.Add(time.Hour)
	invite := func(makersEnd time.Time) *Invite { return &Invite{maker: fate{expiresAt: makersEnd}} }
	for name, row := range map[string]struct {
		key   Key
		until time.Time
	}{
		"a key without an end":         {Key{}, time.Time{}},
		"a key with an end":            {Key{ExpiresAt: early}, early},
		"a maker without an end":       {Key{ExpiresAt: early, Settings: Settings{Invite: invite(time.Time{})}}, early},
		"a maker that ends later":      {Key{ExpiresAt: early, Settings: Settings{Invite: invite(late)}}, early},
		"a maker that ends before":     {Key{ExpiresAt: late, Settings: Settings{Invite: invite(early)}}, early},
		"only the maker has an end":    {Key{Settings: Settings{Invite: invite(late)}}, late},
		"neither it nor its maker has": {Key{Settings: Settings{Invite: invite(time.Time{})}}, time.Time{}},
	} {
		require.Equal(t, row.until, row.key.AcceptedUntil(), name)
	}
}

func TestTheAnswerAboutAnEndedKeyIsBounded(t *testing.T) {
	full := make([]string, maxListed)
	listed, more := firstListed(full)
	require.Len(t, listed, maxListed)
	require.False(t, more)
	listed, more = firstListed(append(full, "one more"))
	require.Equal(t, full, listed)
	require.True(t, more)
}

func TestWhatClientsSeeOfAMaker(t *testing.T) {
	id := newID()
	for name, row := range map[string]struct{ id, subject, shown string }{
		"nobody":                   {"", "", ""},
		"a key of the database":    {id, "", id},
		"nobody vouches for a key": {id, "somebody", id},
		"a key of the server":      {"0123456789abcdef", "", configured},
		"a token's subject":        {"0123", "somebody", "somebody"},
	} {
		require.Equal(t, row.shown, ShownMaker(row.id, row.subject), name)
	}
}
