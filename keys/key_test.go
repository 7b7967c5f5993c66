package keys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var nine = time.Date(2026, time.November, 1, 9, 0, 0, 0, time.UTC)

func TestAKeyEndsAtItsEnd(t *testing.T) {
	for name, row := range map[string]struct {
		key   Key
		ended bool
	}{
		"without an end":    {Key{}, false},
		"before its end":    {Key{ExpiresAt: nine.Add(1)}, false},
		"at its end":        {Key{ExpiresAt: nine}, true},
		"revoked":           {Key{RevokedAt: nine}, true},
		"revoked and going": {Key{RevokedAt: nine, ExpiresAt: nine.Add(1)}, true},
	} {
		require.Equal(t, row.ended, row.key.Ended(nine), name)
	}
}

func TestARotationKeepsTheFormerSecretForTheGrace(t *testing.T) {
	before, next := DigestOf("before"), DigestOf("next")
	for name, row := range map[string]struct {
		expires time.Time
		grace   time.Duration
		former  *Former
	}{
		"no grace":                   {time.Time{}, 0, nil},
		"a grace":                    {time.Time{}, time.Minute, &Former{before, nine.Add(time.Minute)}},
		"within the key's time":      {nine.Add(time.Hour), time.Minute, &Former{before, nine.Add(time.Minute)}},
		"longer than the key's time": {nine.Add(time.Second), time.Minute, &Former{before, nine.Add(time.Second)}},
	} {
		k := Key{Digest: before, ExpiresAt: row.expires, Version: 1, Former: &Former{DigestOf("long ago"), nine.Add(time.Hour)}}
		k.rotate(next, row.grace, nine)
		require.Equal(t, Key{Digest: next, ExpiresAt: row.expires, Version: 2, Former: row.former}, k, name)
	}
}

func TestARevocationEndsBothSecrets(t *testing.T) {
	k := Key{Version: 2, Former: &Former{DigestOf("before"), nine.Add(time.Hour)}}
	k.revoke(nine)
	require.Equal(t, Key{Version: 3, RevokedAt: nine}, k)
}

func TestIDsHaveAForm(t *testing.T) {
	id := newID()
	require.True(t, IsID(id))
	rest := id[len(idPrefix):]
	for _, text := range []string{"", idPrefix, rest, id + "0", id[:len(id)-1], "chan_" + rest, idPrefix + "!" + rest[1:]} {
		require.False(t, IsID(text), text)
	}
}
