package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbandonedNumbersAreBounded(t *testing.T) {
	s := new(Subscription)
	for i := range int64(2 * maxAbandoned) {
		s.LastNumber++ // of a delivery that was stored
		s.ReservedThrough = s.LastNumber + 10
		s.Abandon()
		s.Abandon() // nothing is left
		require.Equal(t, 11*(i+1), s.LastNumber)
	}
	require.Len(t, s.abandoned, maxAbandoned)
	require.False(t, s.WasAbandoned(1))
	require.True(t, s.WasAbandoned(2))
	require.True(t, s.WasAbandoned(s.LastNumber))
	require.False(t, s.WasAbandoned(s.LastNumber+1))
	s.ReservedThrough = s.LastNumber + 5
	s.Abandon()
	require.Len(t, s.abandoned, maxAbandoned, "neighbours become one")
}
