package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADurationWithoutAUnitIsInSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0": 0, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond, "-2": -2 * time.Second,
		"500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "0s": 0,
	} {
		duration, err := parseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, duration, text)
	}
	for _, text := range []string{"", "soon", "30 s", "1e3", "inf", "0x10", "1d", "."} {
		_, err := parseDuration(text)
		require.ErrorContains(t, err, "expected a duration, such as 30 (seconds), 500ms or 1h30m, but got", text)
	}
}

// Flags, variables and the settings file read durations alike.
func TestSecondsAreTakenWhereverADurationIs(t *testing.T) {
	clearEnvironment(t)
	for _, given := range []func(t *testing.T) []string{
		func(*testing.T) []string { return []string{"serve", "--stop-timeout=-7"} },
		func(t *testing.T) []string {
			t.Setenv("OPENINTENT_STOP_TIMEOUT", "-7")
			return []string{"serve"}
		},
		func(t *testing.T) []string { return []string{"serve", "--settings-file", file(t, "stop-timeout: -7")} },
		func(t *testing.T) []string {
			return []string{"serve", "--settings-file", file(t, "stop-timeout: -7.5")}
		},
	} {
		t.Run("", func(t *testing.T) {
			require.Contains(t, at(t, "", given(t)...).stderr, "must be above 0", "it was read, and then refused")
		})
	}
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		require.Contains(t, alice.refused(t, exitTimeout, "ask", "data", "bob", "{}", "--timeout", "1"), "within 1 s")
		bob.does(t, "notify", "data", "alice", "{}")
		require.Equal(t, 2, rows(alice.does(t, "messages", "data", "--since", "600")), "from ten minutes ago")
	})
}
