package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHeldForNoLongerThanAConsumerCan(t *testing.T) {
	now := time.Unix(1000, 0)
	for until, held := range map[time.Duration]bool{
		0: false, time.Microsecond: true, leaseTime: true, leaseTime + clockSkew: true,
		time.Hour: false, // the clock was set back
	} {
		s := subscription{consumer: "one", consumerUntil: now.Add(until)}
		require.Equal(t, held, s.leasedByOther("other", now), "until %s from now", until)
		require.False(t, s.leasedByOther("one", now))
	}
	require.False(t, (&subscription{}).leasedByOther("other", now))
}

// A consumer trusts its lease for slightly less time than nobody else may take it.
func TestALeaseIsTrustedNoLongerThanItLasts(t *testing.T) {
	now := time.Unix(1000, 0)
	for until, leased := range map[time.Duration]bool{
		-time.Hour: false, // the process stood still
		0:          false, clockSkew: false, clockSkew + time.Microsecond: true, leaseTime: true, leaseTime + clockSkew: true,
		time.Hour: false, // the clock was set back
	} {
		c := new(consumer)
		require.False(t, c.leased(now))
		c.extend(now.Add(until), processTime())
		require.Equal(t, leased, c.leased(now), "until %s from now", until)
	}
}
