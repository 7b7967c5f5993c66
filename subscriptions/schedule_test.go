package subscriptions

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The schedule returns the same subscription as a search through all of them, after any additions, moves and removals.
func TestTheScheduleGivesTheEarliest(t *testing.T) {
	t.Parallel()
	var s schedule[*followed]
	all := make([]*followed, 50)
	for i := range all {
		all[i] = &followed{postedSubscription: postedSubscription{no: int64(i)}}
	}
	for range 10_000 {
		f := all[rand.N(len(all))]
		if rand.N(3) == 0 {
			s.remove(f)
		} else {
			s.add(f, time.Unix(rand.N(int64(1000)), 0))
		}
		var earliest *followed
		for _, f := range all {
			if f.scheduled() && (earliest == nil || f.at.Before(earliest.at)) {
				earliest = f
			}
		}
		next := s.next()
		if earliest == nil {
			require.Nil(t, next)
			continue
		}
		require.NotNil(t, next)
		require.True(t, next.scheduled())
		require.Equal(t, earliest.at, next.at)
	}
}
