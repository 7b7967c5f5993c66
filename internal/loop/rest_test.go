package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARestEndsWithItsContext(t *testing.T) {
	require.NoError(t, Rest(t.Context(), 0))
	require.NoError(t, Rest(t.Context(), -time.Hour), "a clock that was set back asks for no rest")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the end of the context counts also where the rest is over
		require.ErrorIs(t, Rest(ctx, 0), context.Canceled)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.ErrorIs(t, Rest(ctx, time.Hour), context.Canceled)
		require.Zero(t, time.Since(began), "nobody waits for the end of the rest")
	})
}

func TestARestLastsAsLongAsTheWorkDidAndASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for worked, rest := range map[time.Duration]time.Duration{
			300 * time.Millisecond: 300 * time.Millisecond, time.Second: time.Second, time.Hour: time.Second,
		} {
			began := time.Now()
			require.NoError(t, Rest(t.Context(), worked))
			require.Equal(t, rest, time.Since(began))
		}
	})
}
