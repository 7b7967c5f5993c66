package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeopleComeBackOneAfterTheOther(t *testing.T) {
	r := newReturns()
	var leaves []func()
	for range mostReturns {
		leave, ok := r.enter()
		require.True(t, ok)
		leaves = append(leaves, leave)
	}
	_, ok := r.enter()
	require.False(t, ok)
	for _, leave := range leaves {
		leave()
	}
	entered := mostReturns
	for range 2 * returnsAtOnce {
		if leave, ok := r.enter(); ok {
			entered++
			leave()
		}
	}
	require.GreaterOrEqual(t, entered, returnsAtOnce)
	require.Less(t, entered, 2*returnsAtOnce, "the provider is not asked faster")
	require.Empty(t, r.places)
}
