package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/subscriptions/record"
)

// An acknowledgement between a look and the wait for room is not missed.
func TestAStreamDoesNotWaitForRoomThatCameMeanwhile(t *testing.T) {
	l := &Ledger{
		settler: NewSettler(nil, nil), next: 2, end: 100, given: 1, unsettled: []sentDelivery{{1, record.ProcessTime()}},
		unfinished: map[int64]unfinishedDelivery{1: {}}, acknowledged: make(map[int64]struct{}),
	}
	looked, err := l.State(nil)
	require.NoError(t, err)
	require.Equal(t, 1, looked.Unsettled)
	require.True(t, l.Note([]int64{1}))
	require.False(t, l.Await(looked))
}
