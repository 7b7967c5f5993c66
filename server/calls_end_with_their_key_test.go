package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// When a token is over, what began under it ends, and nothing else does.
func TestWhatLastsEndsWithItsOwnToken(t *testing.T) {
	now := time.Now()
	var lasting expiries
	begin := func(key *apiKey) (ctx context.Context, forget func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		t.Cleanup(func() { cancel(nil) })
		return ctx, lasting.watch(key, cancel)
	}
	over := errors.New("the token is over")
	first, _ := begin(&apiKey{valid: t.Context(), over: over, until: now})
	second, forget := begin(&apiKey{valid: t.Context(), over: over, until: now.Add(time.Microsecond)})
	endless, _ := begin(&apiKey{valid: t.Context()})
	lasting.end(now.Add(-time.Microsecond))
	require.NoError(t, first.Err())
	lasting.end(now)
	require.ErrorIs(t, context.Cause(first), over)
	require.NoError(t, second.Err())
	forget()
	lasting.end(now.Add(time.Hour))
	require.NoError(t, second.Err(), "it had ended by itself")
	require.NoError(t, endless.Err())
}
