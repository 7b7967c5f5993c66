package loop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARestEndsWithItsContext(t *testing.T) {
	require.NoError(t, Rest(t.Context(), 0))
	require.NoError(t, Rest(t.Context(), -time.Hour), "a clock that was set back asks for no rest")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Rest(ctx, time.Hour), context.Canceled)
}
