package leases

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// A call waits for as long as its caller wants, also when the clock is set forward.
func TestAClockSetForwardEndsNoWait(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.lookAgain = 5 * time.Millisecond
		lease := h.hold(t, "ann", "parser")
		_, err := h.renew("ann", lease.GetId(), 86_400)
		require.NoError(t, err)
		bob := h.await(t, h.rooms, "bob", "parser")
		h.clock.Advance(3 * time.Hour)
		alive := func() (until int64) {
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *tx) error {
				return tx.Pipeline(database.ReadValue(&until, "SELECT COALESCE(max(alive_until), 0) FROM lease_waiters"))
			}))
			return until
		}
		require.Eventually(t, func() bool { return alive() > database.Micros(h.clock.Now()) }, patience, time.Millisecond, "bob waits no longer")
		require.NoError(t, h.free("ann", lease.GetId()))
		h.granted(t, bob)
	})
}

// Under a test, time is what the test's clock shows.
func TestAClockThatATestMovesEndsAWait(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.lookAgain, h.clockEndsWaits = 5*time.Millisecond, true
		lease := h.hold(t, "ann", "parser")
		_, err := h.renew("ann", lease.GetId(), 86_400)
		require.NoError(t, err)
		bob := h.await(t, h.rooms, "bob", "parser")
		h.clock.Advance(10 * time.Minute)
		select {
		case ended := <-bob:
			require.ErrorContains(t, ended.err, "belongs to ann")
		case <-time.After(patience):
			t.Fatal("the call waits on")
		}
	})
}

// A clock that is set back by hours makes no dead call live on, and the sweep removes its place.
func TestADeadCallHoldsNobodyUpWhenTheClockIsSetBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.wait(t, "bob", "parser", h.alive(h.clock.Now()))
		h.wait(t, "bob", "lexer", h.alive(h.clock.Now()))
		h.clock.Advance(-3 * time.Hour)
		h.hold(t, "ann", "parser")
		ann := h.await(t, h.rooms, "ann", "lexer")
		h.granted(t, ann)
		h.wait(t, "bob", "printer", h.alive(h.clock.Now().Add(3*time.Hour)))
		require.NoError(t, h.Sweep(t.Context()))
		var places int64
		require.NoError(t, h.db.Read(t.Context(), func(tx *tx) error { return tx.Gorm().Model(&waiter{}).Count(&places).Error }))
		require.Zero(t, places)
	})
}

// A call that waits goes on waiting when the clock is set back, and has its lease in turn.
func TestALivingCallWaitsOnWhenTheClockIsSetBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.lookAgain = 5 * time.Millisecond
		lease := h.hold(t, "ann", "parser")
		bob := h.await(t, h.rooms, "bob", "parser")
		h.clock.Advance(-3 * time.Hour)
		require.NoError(t, h.Sweep(t.Context()))
		require.NoError(t, h.free("ann", lease.GetId()))
		h.granted(t, bob)
	})
}
