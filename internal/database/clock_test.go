package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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

// The shortest of the round trips counts, because the longer ones may have taken long on one way alone. Then the clock goes on with the
// process's, and a measurement that fails changes nothing.
func TestTheClockBelievesTheShortestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		type trip struct{ there, back time.Duration }
		trips := []trip{{8, 0}, {0, 7}, {1, 1}, {3, 0}, {0, 9}}
		asked, fails := 0, len(trips)
		ask := func(context.Context) (time.Time, error) {
			if asked == fails {
				return time.Time{}, errors.New("the connection was lost")
			}
			one := trips[asked]
			asked++
			<-time.After(one.there * time.Second)
			found := time.Now().Add(ahead)
			<-time.After(one.back * time.Second)
			return found, nil
		}
		var clock serverClock
		require.NoError(t, clock.measure(t.Context(), ask))
		require.Equal(t, len(trips), asked)
		shows := func() { require.Equal(t, ahead, time.Until(clock.now())) }
		shows()
		<-time.After(time.Minute)
		shows()
		asked, fails = 0, 1
		require.Error(t, clock.measure(t.Context(), ask))
		shows()
	})
}
