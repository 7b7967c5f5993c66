package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A guest takes part where it is listed, whatever the policy and the access to the intent, and manages nothing.
func TestWhereAGuestTakesPart(t *testing.T) {
	added := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, listed := added.Add(time.Hour), []member{{agent: "guest-a", addedAt: added, joinedAfter: 7}}
	for _, policy := range []Policy{PolicyIntent, PolicyExplicit} {
		for _, history := range []History{HistoryAll, HistoryFromJoin} {
			rules := newRules(Rules{CreatedBy: "guest-a", Policy: policy, History: history}, listed)
			require.True(t, rules.Participates("guest-a", false, nil, time.Time{}, now))
			require.False(t, rules.Participates("guest-b", false, nil, time.Time{}, now))
			require.False(t, rules.Participates("guest-a", false, nil, added, now), "it has left")
			require.False(t, rules.Manages("guest-a", false, nil, now), "even as the creator")
			floor := int64(0)
			if history == HistoryFromJoin {
				floor = 7
			}
			require.Equal(t, floor, rules.HistoryFloor("guest-a", time.Time{}))
		}
	}
}
