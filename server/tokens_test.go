package server

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/oidc/oidctest"
)

// newTokenHouse makes what a server keeps of an issuer's tokens.
func newTokenHouse(t testing.TB, change func(*Config)) (*tokens, *oidctest.Issuer) {
	t.Helper()
	issuer, cfg := oidctest.Start(t), DefaultConfig()
	cfg.OIDCIssuer, cfg.OIDCAudience = issuer.URL, oidctest.Audience
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.validate())
	known := newTokens(cfg, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(known.issuer.Stop)
	return known, issuer
}

func TestATokenIsCheckedOnce(t *testing.T) {
	known, issuer := newTokenHouse(t, nil)
	token := issuer.Token(t, nil)
	first, err := known.find(t.Context(), token)
	require.NoError(t, err)
	again, err := known.find(t.Context(), token)
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, []string{"alice"}, first.agents)
	require.True(t, first.bound)
}

func TestTheMemoryOfTokensIsBounded(t *testing.T) {
	known, issuer := newTokenHouse(t, nil)
	known.checked.Resize(3)
	for i := range 5 {
		_, err := known.find(t.Context(), issuer.Token(t, oidctest.Claims{"jti": fmt.Sprint(i)}))
		require.NoError(t, err)
	}
	require.Equal(t, 3, known.checked.Len())
	for range 5 {
		_, err := known.find(t.Context(), oidctest.Unsigned(t, "none", issuer.Claims(nil)))
		require.Error(t, err)
	}
	require.Equal(t, 3, known.checked.Len())
}

func TestATokensIDIsItsSubjects(t *testing.T) {
	known, issuer := newTokenHouse(t, nil)
	id := func(claims oidctest.Claims) string {
		key, err := known.find(t.Context(), issuer.Token(t, claims))
		require.NoError(t, err)
		return key.id
	}
	require.Equal(t, id(nil), id(oidctest.Claims{"jti": "2"}))
	require.NotEqual(t, id(nil), id(oidctest.Claims{"sub": "bob"}))
	require.NotContains(t, id(nil), "alice")
}

func TestOnlyWhatHasTheFormIsAToken(t *testing.T) {
	known, _ := newTokenHouse(t, nil)
	for _, text := range []string{"", "dev-key-001", "a.b", "a.b.c.d", "a b.c.d", "oi_4fW0Zk2nTzYpQ7sVb1mXe9RjL5uHc8aDgKiN3oPqSrTvUwxGH"} {
		key, err := known.find(t.Context(), text)
		require.NoError(t, err)
		require.Nil(t, key)
	}
	_, err := known.find(t.Context(), "a.b.c")
	require.Error(t, err)
	key, err := (*tokens)(nil).find(t.Context(), "a.b.c")
	require.NoError(t, err)
	require.Nil(t, key)
}

func TestSettingsOfTokens(t *testing.T) {
	for _, test := range []struct {
		change  func(*Config)
		problem string
	}{
		{func(c *Config) { c.OIDCAudience = "" }, "OPENINTENT_OIDC_AUDIENCE must be set"},
		{func(c *Config) { c.OIDCIssuer = "" }, "without OPENINTENT_OIDC_ISSUER"},
		{func(c *Config) { c.OIDCIssuer = "http://id.example.com" }, "OPENINTENT_OIDC_ISSUER must begin with https://"},
		{func(c *Config) { c.OIDCAgentClaim = "" }, "OPENINTENT_OIDC_AGENT_CLAIM must name"},
		{func(c *Config) { c.OIDCClockSkew = -time.Second }, "OPENINTENT_OIDC_CLOCK_SKEW must lie between"},
		{func(c *Config) { c.OIDCClockSkew = time.Hour }, "OPENINTENT_OIDC_CLOCK_SKEW must lie between"},
		{func(c *Config) { c.OIDCAgentPrefix = "role:" }, "OPENINTENT_OIDC_AGENT_PREFIX must be"},
		{func(c *Config) { c.OIDCAgentPrefix = "acme/" }, "OPENINTENT_OIDC_AGENT_PREFIX must be"},
	} {
		cfg := DefaultConfig()
		cfg.OIDCIssuer, cfg.OIDCAudience = "https://id.example.com", "openintent"
		require.NoError(t, cfg.validate())
		test.change(&cfg)
		require.ErrorContains(t, cfg.validate(), test.problem)
	}
}

// A call with a known token costs no signature, and garbage costs one at most.
func BenchmarkTokens(b *testing.B) {
	known, issuer := newTokenHouse(b, nil)
	good := issuer.Token(b, nil)
	for name, token := range map[string]string{
		"known": good, "garbage": oidctest.Unsigned(b, "none", issuer.Claims(nil)), "wrong signature": good[:len(good)-10] + "AAAAAAAAAA",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = known.find(b.Context(), token)
			}
		})
	}
}
