package schedule

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// entry is something that has its time.
type entry struct{ Timer }

// The schedule returns the same entry as a search through all of them, after any additions, moves and removals.
func TestTheScheduleGivesTheEarliest(t *testing.T) {
	t.Parallel()
	var s Queue[*entry]
	all := make([]*entry, 50)
	for i := range all {
		all[i] = new(entry)
	}
	for range 10_000 {
		one := all[rand.N(len(all))]
		if rand.N(3) == 0 {
			s.Remove(one)
		} else {
			s.Add(one, time.Unix(rand.N(int64(1000)), 0))
		}
		var earliest *entry
		for _, one := range all {
			if one.Scheduled() && (earliest == nil || one.At.Before(earliest.At)) {
				earliest = one
			}
		}
		next := s.Next()
		if earliest == nil {
			require.Nil(t, next)
			continue
		}
		require.NotNil(t, next)
		require.True(t, next.Scheduled())
		require.Equal(t, earliest.At, next.At)
	}
}
