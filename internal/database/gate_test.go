package database

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A closed gate lets nobody in: neither those who wait, nor those who come later and find a free place.
func TestAClosedGateLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		_, err := g.enter(t.Context())
		require.NoError(t, err)
		waited := make(chan error, 1)
		go func() {
			_, err := g.enter(t.Context())
			waited <- err
		}()
		synctest.Wait() // until it waits
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Empty(t, g.close(ended))
		synctest.Wait()
		require.Len(t, waited, 1)
		require.ErrorIs(t, <-waited, errClosed)
		g.leave(1)
		for range 100 {
			_, err := g.enter(t.Context())
			require.ErrorIs(t, err, errClosed)
		}
	})
}
