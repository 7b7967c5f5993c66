package delivering

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/subscriptions/record"
)

// A consumer trusts its lease for slightly less time than nobody else may take it.
func TestALeaseIsTrustedNoLongerThanItLasts(t *testing.T) {
	now := time.Unix(1000, 0)
	for until, leased := range map[time.Duration]bool{
		-time.Hour: false, // the process stood still
		0:          false, record.ClockSkew: false, record.ClockSkew + time.Microsecond: true, record.LeaseTime: true, record.LeaseTime + record.ClockSkew: true,
		time.Hour: false, // the clock was set back
	} {
		c := new(Consumer)
		require.False(t, c.Leased(now))
		c.Extend(now.Add(until), record.ProcessTime())
		require.Equal(t, leased, c.Leased(now), "until %s from now", until)
	}
	// The process's own clock goes on whatever becomes of the database's.
	for renewed, leased := range map[time.Duration]bool{0: true, time.Hour: false, record.LeaseTime - record.ClockSkew: false, record.LeaseTime / 2: true} {
		c := new(Consumer)
		c.Extend(now.Add(record.LeaseTime), record.ProcessTime().Add(-renewed))
		require.Equal(t, leased, c.Leased(now), "renewed %s ago", renewed)
	}
}

// The lease of a consumer is renewed a few times while its client accepts nothing, and again once the client accepts something.
func TestALeaseIsRenewedAFewTimesForAClientThatHangs(t *testing.T) {
	c := new(Consumer)
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
