package database

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The clock shows the time of the database's clock, even after that was set back or forward.
func TestTheClockFollowsTheDatabases(t *testing.T) {
	var clock serverClock
	start := time.Now()
	for _, step := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		require.NoError(t, clock.measure(t.Context(), func(context.Context) (time.Time, error) { return time.Now().Add(step), nil }))
		require.WithinDuration(t, time.Now().Add(step), clock.now(), time.Minute)
	}
	require.False(t, clock.now().Before(start.Add(-time.Second)))
}
