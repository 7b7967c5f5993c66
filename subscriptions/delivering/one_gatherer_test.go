package delivering

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// One fetch of a subscription gathers at a time, fetches of others beside it, and nothing stays behind.
func TestFetchesTakeTurns(t *testing.T) {
	turns := newTurns()
	first, err := turns.take(t.Context(), 1)
	require.NoError(t, err)
	other, err := turns.take(t.Context(), 2)
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.take(gone, 1)
	require.ErrorIs(t, err, context.Canceled)
	taken := make(chan func())
	go func() {
		second, _ := turns.take(context.Background(), 1)
		taken <- second
	}()
	select {
	case <-taken:
		require.Fail(t, "two have the turn")
	default:
	}
	first()
	(<-taken)()
	other()
	require.Empty(t, turns.of)
}
