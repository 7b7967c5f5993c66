package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/messaging"
	"openintent/subscriptions/record"
)

// A delivery waits to be stored for twice the time in which its agent usually acknowledges, if that is soon enough.
func TestALedgerWaitsForItsAgent(t *testing.T) {
	l := &Ledger{settler: NewSettler(nil, nil), longest: longestSettleDelay}
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

// The first acknowledgement already says how long the agent needs: what comes right after it is not stored for nothing.
func TestALedgerKnowsItsAgentAfterOneAcknowledgement(t *testing.T) {
	l := &Ledger{settler: NewSettler(nil, nil), longest: longestSettleDelay}
	l.learn(1200 * time.Millisecond)
	require.Equal(t, 2400*time.Millisecond, l.patience(), "a busy server's agents need more than a second")
	l = &Ledger{settler: NewSettler(nil, nil), longest: longestSettleDelay}
	l.settler.took.Store(int64(time.Second))
	require.Equal(t, 2*time.Second, l.patience(), "so does a slow database")
	l.settler.took.Store(int64(time.Hour))
	require.Equal(t, longestSettleDelay, l.patience())
}

// A ledger stores a delivery before half of its time to be acknowledged is over.
func TestALedgerWaitsNoLongerThanItsAgentMay(t *testing.T) {
	for seconds, longest := range map[int64]time.Duration{1: time.Second / 2, 30: longestSettleDelay} {
		sub := &record.Subscription{AcknowledgeSeconds: seconds}
		require.Equal(t, longest, NewSettler(nil, nil).NewLedger(sub, "active", nil).longest)
	}
}

// What is acknowledged while a ledger is being stored is stored the next time.
func TestALedgerKeepsWhatIsAcknowledgedMeanwhile(t *testing.T) {
	l := &Ledger{
		settler: NewSettler(nil, nil), longest: longestSettleDelay, next: 1, end: record.BlockSize,
		unfinished: make(map[int64]unfinishedDelivery), acknowledged: make(map[int64]struct{}), moved: make(map[int64]struct{}),
		positions: make(map[int64]int64), stored: make(map[int64]int64), ends: make(map[int64]messaging.LogEnd),
	}
	for position := range int64(2) {
		_, err := l.Give(record.Delivery{IntentNo: 1, Position: position + 1})
		require.NoError(t, err)
	}
	require.True(t, l.Note([]int64{1}))
	p := l.portion(true)
	require.Equal(t, []int64{1}, p.acknowledged)
	require.True(t, l.Note([]int64{2}))
	p.stored = reached{offered: 2, last: 2, reserved: record.BlockSize}
	l.noteSettled(p)
	require.Equal(t, []int64{2}, l.portion(true).acknowledged)
	require.False(t, l.noted.IsZero(), "it is stored a while later, although nobody waits for it")
}
