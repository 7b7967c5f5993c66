package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The name of a variable in place of a key has a refusal of its own, and the log says so once a minute, without what was sent.
func TestTheNameOfAVariableIsNoKey(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1_000_000, 0)
	u := &unreplacedKeys{logger: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	for _, named := range []string{
		"${OPENINTENT_API_KEY}", "$OPENINTENT_API_KEY", "{env:OPENINTENT_API_KEY}", "${env:OPENINTENT_API_KEY}", "%OPENINTENT_API_KEY%",
		"{{OPENINTENT_API_KEY}}", "${{ secrets.KEY }}", "$env:OPENINTENT_API_KEY", "${input:openintent-key}",
	} {
		require.ErrorIs(t, u.refusal(named), errKeyUnreplaced, named)
	}
	for _, key := range []string{"", "wrong", "oi_abcdefghijklmnop", "a$b", "$", "100%", "{}", "$1", "a{env:B}"} {
		require.ErrorIs(t, u.refusal(key), errKeyUnknown, key)
	}
	require.Equal(t, 1, strings.Count(log.String(), "name of a variable"))
	require.NotContains(t, log.String(), "OPENINTENT_API_KEY")
	now = now.Add(unreplacedEvery)
	require.ErrorIs(t, u.refusal("$KEY"), errKeyUnreplaced)
	require.Equal(t, 2, strings.Count(log.String(), "name of a variable"))
	require.ErrorIs(t, (*unreplacedKeys)(nil).refusal("$KEY"), errKeyUnreplaced, "without a log as well")
}
