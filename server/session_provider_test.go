package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/sessions"
)

// A session is over once the operator has set another identity provider than the one that vouched for it, or none.
func TestASessionOfAnotherProviderIsOver(t *testing.T) {
	known, _ := newTokenHouse(t, func(c *Config) { c.OIDCClientID = "console" })
	vouched := func(k *Keys, issuer string) bool {
		said := &sessions.Token{Issuer: issuer, Subject: "paula", Agents: []string{"paula"}, Until: time.Now().Add(time.Hour)}
		key, err := k.vouchedFor(t.Context(), &sessions.Session{Token: said})
		require.NoError(t, err)
		return key != nil
	}
	require.True(t, vouched(&Keys{tokens: known}, known.cfg.OIDCIssuer))
	require.False(t, vouched(&Keys{tokens: known}, "https://former.example"))
	require.False(t, vouched(&Keys{}, known.cfg.OIDCIssuer))
}

func TestPeopleComeBackOneAfterTheOther(t *testing.T) {
	r := newReturns()
	var leaves []func()
	for range mostReturns {
		leave, ok := r.enter()
		require.True(t, ok)
		leaves = append(leaves, leave)
	}
	_, ok := r.enter()
	require.False(t, ok)
	for _, leave := range leaves {
		leave()
	}
	entered := mostReturns
	for range 2 * returnsAtOnce {
		if leave, ok := r.enter(); ok {
			entered++
			leave()
		}
	}
	require.GreaterOrEqual(t, entered, returnsAtOnce)
	require.Less(t, entered, 2*returnsAtOnce, "the provider is not asked faster")
	require.Empty(t, r.places)
}
