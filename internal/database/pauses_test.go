package database_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

func TestPausesDoubleUpToABound(t *testing.T) {
	const longest = 250 * time.Millisecond
	drawn := make(map[time.Duration]bool)
	for range 50 {
		pauses := database.GrowingPauses(longest)
		for _, middle := range []time.Duration{5, 10, 20, 40, 80, 160, 250, 250} {
			middle *= time.Millisecond
			pause := pauses.NextBackOff()
			require.GreaterOrEqual(t, pause, middle/2)
			require.LessOrEqual(t, pause, middle*3/2)
			drawn[pause] = true
		}
	}
	require.Greater(t, len(drawn), 100, "transactions that conflicted do not meet again")
}

func TestTheFirstAttemptToReconnectComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts database.Reconnecting
		waited := func(ctx context.Context) time.Duration {
			began := time.Now()
			attempts.Wait(ctx)
			return time.Since(began)
		}
		for range 2 {
			require.Zero(t, waited(t.Context()))
			require.GreaterOrEqual(t, waited(t.Context()), 2500*time.Microsecond)
			require.GreaterOrEqual(t, waited(t.Context()), 5*time.Millisecond)
			for range 20 {
				require.LessOrEqual(t, waited(t.Context()), 1500*time.Millisecond)
			}
			require.GreaterOrEqual(t, waited(t.Context()), 500*time.Millisecond)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			require.Zero(t, waited(ended))
			attempts.Worked()
		}
	})
}
