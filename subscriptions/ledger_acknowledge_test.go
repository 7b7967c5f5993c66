package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A delivery waits to be stored for twice the time in which its agent usually acknowledges, if that is soon enough.
func TestALedgerWaitsForItsAgent(t *testing.T) {
	l := &ledger{settler: newSettler(nil, nil)}
	acknowledged := func(took time.Duration) time.Duration {
		for range 20 * lagSmoothing {
			l.learn(took)
		}
		return l.patience()
	}
	require.Equal(t, settleDelay, l.patience(), "nothing is known")
	require.Equal(t, settleDelay, acknowledged(settleDelay/4))
	require.InDelta(t, 4*settleDelay, acknowledged(2*settleDelay), float64(time.Millisecond))
	require.Equal(t, longestSettleDelay, acknowledged(longestSettleDelay))
	require.Equal(t, settleDelay, acknowledged(longestSettleDelay+1), "waiting would be in vain")
	require.Equal(t, settleDelay, acknowledged(time.Hour))
	l.learn(longestSettleDelay)
	require.Less(t, l.patience(), longestSettleDelay, "one acknowledgement decides little")
}
