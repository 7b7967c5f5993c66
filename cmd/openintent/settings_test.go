package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An error about a setting names what the user gave, whoever refuses it, and has one exit code.
func TestErrorsAboutSettingsNameWhatWasGiven(t *testing.T) {
	for _, test := range []struct {
		variable, value string
		arguments       []string
		says            string
	}{
		{"", "", []string{"serve", "--retention=soon"}, "openintent: --retention: expected a duration"},
		{"RETENTION", "soon", []string{"serve"}, "openintent: OPENINTENT_RETENTION: expected a duration"},
		{"", "", []string{"serve", "--retention=0s"}, "openintent: --retention must be above 0\n"},
		{"RETENTION", "0s", []string{"serve"}, "openintent: OPENINTENT_RETENTION must be above 0\n"},
		{"RETENTION", "1h", []string{"serve", "--retention=0s"}, "openintent: --retention must be above 0\n"},
		{"", "", []string{"serve", "--log-level=loud"}, "openintent: --log-level must be one of"},
		{"LOG_LEVEL", "loud", []string{"serve"}, "openintent: OPENINTENT_LOG_LEVEL must be one of"},
		{"", "", []string{"serve", "--tls-key=k.pem"}, "OPENINTENT_TLS_CERT and --tls-key belong together"},
		{"", "", []string{"serve", "--tls-key=k.pem", "--tls-cert=c.pem"}, "openintent: --tls-cert cannot be read: open c.pem"},
		{"", "", []string{"intents", "--server", "nowhere"}, "openintent: --server must be host:port"},
		{"SERVER", "nowhere", []string{"intents"}, "openintent: OPENINTENT_SERVER must be host:port"},
		{"PATIENCE", "long", []string{"intents"}, "openintent: OPENINTENT_PATIENCE: expected a duration"},
		{"TLS", "maybe", []string{"intents"}, "openintent: OPENINTENT_TLS must be 1 or 0"},
	} {
		clearEnvironment(t)
		if test.variable != "" {
			t.Setenv("OPENINTENT_"+test.variable, test.value)
		}
		did := at(t, "", test.arguments...)
		require.Equal(t, exitUsage, did.exit, did.stderr)
		require.Contains(t, did.stderr, test.says)
		require.NotContains(t, did.stderr, "envar")
	}
	clearEnvironment(t)
	t.Setenv("OPENINTENT_CONFIG", file(t, "current: a\ncontexts: {a: {server: 'nowhere'}}"))
	require.Contains(t, at(t, "", "intents").stderr, `the server of the context must be host:port`)
}
