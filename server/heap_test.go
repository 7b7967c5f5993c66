package server

import (
	"runtime"
	runtimemetrics "runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASmallHeapMayGrowByTheReserve(t *testing.T) {
	for base, percent := range map[uint64]int{
		0: mostPercent, 1 << 20: mostPercent, 8 << 20: 800, 10 << 20: 640, 64 << 20: 100, 65 << 20: 100, 1 << 40: 100,
	} {
		require.Equal(t, percent, percentFor(base), base)
	}
}

// A heap that has become large only doubles, and one that is small again may grow by the reserve. Each collection adjusts that.
func TestTheReserveFollowsCollections(t *testing.T) {
	t.Setenv("GOGC", "")
	ReserveHeap()
	percent := func() uint64 {
		runtime.GC()
		sample := []runtimemetrics.Sample{{Name: "/gc/gogc:percent"}}
		runtimemetrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	large := make([]byte, 4*heapReserve)
	require.Eventually(t, func() bool { return percent() == 100 }, 10*time.Second, time.Millisecond)
	runtime.KeepAlive(large)
	require.Eventually(t, func() bool { return percent() > 100 }, 10*time.Second, time.Millisecond)
}
