package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASmallHeapMayGrowByTheReserve(t *testing.T) {
	for base, percent := range map[uint64]int{
		0: mostPercent, 1 << 20: mostPercent, 8 << 20: 800, 10 << 20: 640, 64 << 20: 100, 65 << 20: 100, 1 << 40: 100,
	} {
		require.Equal(t, percent, percentFor(base), base)
	}
	require.Positive(t, heapBase())
}
