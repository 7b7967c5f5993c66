package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A link in a pointer leads to where its reader reaches the console, or there is none.
func TestWhereLinksOfPointersLead(t *testing.T) {
	for link, cfg := range map[string]Config{
		"https://openintent.example": {PublicURL: "https://openintent.example/", HTTPAddr: "127.0.0.1:8000"},
		"http://127.0.0.1:8000":      {HTTPAddr: "127.0.0.1:8000"},
		"http://[::1]:8000":          {HTTPAddr: "[::1]:8000"},
		"https://127.0.0.1:8000":     {HTTPAddr: "127.0.0.1:8000", TLSCert: "cert.pem"},
	} {
		require.Equal(t, link, cfg.linkAddress())
	}
	for _, address := range []string{"0.0.0.0:8000", "10.0.0.7:8000", ":8000", "127.0.0.1:0", ""} {
		require.Empty(t, Config{HTTPAddr: address}.linkAddress(), address)
	}
}

// A relay needs the address from which its mails come, and that address a relay.
func TestMailNeedsARelayAndAnAddress(t *testing.T) {
	require.NoError(t, Config{}.checkMail())
	require.NoError(t, Config{MailRelay: "smtp://localhost", MailFrom: "openintent@example.com"}.checkMail())
	require.ErrorIs(t, Config{MailFrom: "openintent@example.com"}.checkMail(), errMailFromAlone)
	err := Config{MailRelay: "smtp://user:secret@mail.example.com"}.checkMail()
	require.ErrorContains(t, err, "OPENINTENT_MAIL_FROM")
	require.NotContains(t, err.Error(), "secret")
}
