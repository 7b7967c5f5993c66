package loop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARestEndsByItselfOrWithItsContext(t *testing.T) {
	require.NoError(t, Rest(t.Context(), 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	require.ErrorIs(t, Rest(ctx, time.Hour), context.Canceled)
	require.NoError(t, Rest(t.Context(), time.Millisecond))
	require.GreaterOrEqual(t, time.Since(began), time.Millisecond)
}
