package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePublicAddress(t *testing.T) {
	for given, address := range map[string]string{
		"":                                 "",
		"https://openintent.example":       "https://openintent.example",
		"https://openintent.example/":      "https://openintent.example",
		"https://OpenIntent.example:443/":  "https://openintent.example",
		"https://openintent.example:8443":  "https://openintent.example:8443",
		"https://example.com/teams/a_1/~b": "https://example.com/teams/a_1/~b",
		"https://example.com/agents/":      "https://example.com/agents",
		"https://192.0.2.7":                "https://192.0.2.7",
		"https://[2001:db8::1]:8443/a":     "https://[2001:db8::1]:8443/a",
		"http://localhost:8000":            "http://localhost:8000",
		"http://127.0.0.1:80":              "http://127.0.0.1",
		"http://[::1]:8000/agents":         "http://[::1]:8000/agents",
	} {
		cfg := DefaultConfig()
		cfg.PublicURL = given
		require.NoError(t, cfg.validate(), given)
		require.Equal(t, address, cfg.publicAddress(), given)
	}
}

func TestPublicAddressesThatThereCannotBe(t *testing.T) {
	for _, given := range []string{
		"openintent.example", "openintent.example:8000", "/agents", "https://", "https:///agents", "ftp://openintent.example",
		"https://openintent.example?x=1", "https://openintent.example?", "https://openintent.example/#a", "https://openintent.example#",
		"https://me:secret@openintent.example", "https://openintent.example:", "https://openintent.example:0", "https://openintent.example:70000",
		"https://openintent.example/a//b", "https://openintent.example//", "https://openintent.example/a/../b", "https://openintent.example/.",
		"https://openintent.example/a%2Fb", `https://openintent.example/a"b`, `https://a"b.example`, "https://a,b.example", "https://*.example",
		"https://[fe80::1%25eth0]", "https://openintent.example/ä", "https://öpen.example", " https://openintent.example", "https://open intent.example",
		"https://openintent.example/a\nb",
	} {
		cfg := DefaultConfig()
		cfg.PublicURL = given
		require.ErrorIs(t, cfg.validate(), errPublicURL, given)
	}
	cfg := DefaultConfig()
	for _, given := range []string{"http://openintent.example", "http://192.0.2.7:8000", "http://localhost.example"} {
		cfg.PublicURL = given
		require.ErrorIs(t, cfg.validate(), errPublicPlain, given)
	}
	require.NotContains(t, errPublicURL.Error(), "secret")
}
