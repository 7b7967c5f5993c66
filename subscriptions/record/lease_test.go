package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHeldForNoLongerThanAConsumerCan(t *testing.T) {
	now := time.Unix(1000, 0)
	for until, held := range map[time.Duration]bool{
		0: false, time.Microsecond: true, LeaseTime: true, LeaseTime + ClockSkew: true,
		time.Hour: false, // the clock was set back
	} {
		s := Subscription{Consumer: "one", ConsumerUntil: now.Add(until)}
		require.Equal(t, held, s.LeasedByOther("other", now), "until %s from now", until)
		require.False(t, s.LeasedByOther("one", now))
	}
	require.False(t, (&Subscription{}).LeasedByOther("other", now))
}

// A fetch that numbers after the lease of a stream has run out takes everything from that stream: the mark by which it would go on, and
// what is left of the numbers that it has reserved.
func TestAFetchFencesAStreamWhoseLeaseHasRunOut(t *testing.T) {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	leased := func(until time.Time) *Change {
		return &Change{Now: now, Locked: &Subscription{
			Name: "work", Consumer: "stream", ConsumerUntil: until, LastNumber: 3, ReservedThrough: 10,
		}}
	}
	c := leased(now)
	require.NoError(t, c.BeginNumbering(""))
	require.Equal(t, fenced, c.Locked.Consumer)
	require.True(t, c.Locked.ConsumerUntil.IsZero())
	require.Equal(t, int64(10), c.Locked.LastNumber)
	require.True(t, c.Locked.WasAbandoned(4))

	c = leased(now.Add(time.Microsecond))
	require.ErrorIs(t, c.BeginNumbering(""), ErrInUse, "the lease has not run out")
	require.ErrorIs(t, c.BeginNumbering("another stream"), ErrConsumerLost)
	require.Equal(t, int64(3), c.Locked.LastNumber)
	require.NoError(t, c.BeginNumbering("stream"))
	require.Equal(t, "stream", c.Locked.Consumer)
}
