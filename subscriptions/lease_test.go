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
	// The process's own clock goes on whatever becomes of the database's.
	for renewed, leased := range map[time.Duration]bool{0: true, time.Hour: false, leaseTime - clockSkew: false, leaseTime / 2: true} {
		c := new(consumer)
		c.extend(now.Add(leaseTime), processTime().Add(-renewed))
		require.Equal(t, leased, c.leased(now), "renewed %s ago", renewed)
	}
}

// The lease of a consumer is renewed a few times while its client accepts nothing, and again once the client accepts something.
func TestALeaseIsRenewedAFewTimesForAClientThatHangs(t *testing.T) {
	c := new(consumer)
	for range 2 {
		require.NoError(t, c.whileBusy(func() error {
			for range stalledRenewals {
				require.True(t, c.lives())
			}
			require.False(t, c.lives())
			return nil
		}))
		require.True(t, c.lives())
	}
}
