package intents

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/optional"
)

func TestTheTimeOfADecision(t *testing.T) {
	clock := time.Unix(1000, 0)
	for lead, later := range map[time.Duration]time.Duration{
		-time.Hour:                     0,
		0:                              0,
		time.Microsecond:               time.Microsecond,
		time.Second:                    time.Second, // the clocks of two replicas
		time.Second + time.Microsecond: 0,           // the clock was set back
		time.Hour:                      0,
	} {
		head := Head{LastAt: clock.Add(lead)}
		require.Equal(t, clock.Add(later), head.At(clock), "%s ahead", lead)
	}
}

// step moves the clock ahead, calls do, and moves the clock back.
func (h *house) step(by time.Duration, do func()) {
	h.clock.Advance(by)
	do()
	h.clock.Advance(-by)
}

func TestAccessFollowsTheClockOnALogAhead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.step(time.Hour, func() { h.closeList(t, id) })
		entry := h.grant(t, id, "eve", PermissionRead, h.clock.Now().Add(10*time.Minute))
		require.True(t, h.mayRead("eve", id))
		require.True(t, entry.GetExpiresAt().AsTime().Before(entry.GetGrantedAt().AsTime()))
		made := h.coordinate(t, id, "bob")
		require.Equal(t, h.clock.Now(), made.GetLastHeartbeatAt().AsTime())
		h.clock.Advance(2*time.Minute + time.Microsecond)
		require.False(t, h.mayRead("bob", id), "silent for more than twice its interval")
		answer, err := h.beat("bob", made.GetId())
		require.NoError(t, err)
		require.Equal(t, h.clock.Now().Add(time.Minute), answer.GetNextHeartbeatAt().AsTime())
		require.True(t, h.mayRead("bob", id))

		h.clock.Advance(8*time.Minute - time.Microsecond)
		require.False(t, h.mayRead("eve", id), "ten minutes are over")
		require.NoError(t, h.Sweep(t.Context()))
		types := h.eventTypes(t, id)
		require.Equal(t, "access_expired", types[len(types)-1])
		_, err = h.CreateAccessEntry(as("ann"), &openintentv1.CreateAccessEntryRequest{
			IntentId: id, PrincipalId: "eve", Permission: openintentv1.Permission_PERMISSION_READ,
			ExpiresAt: optional.Time(h.clock.Now()),
		})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

// A coordinator that was heard while the clock was ahead falls silent by the corrected clock.
func TestACoordinatorThatWasHeardAheadOfTheClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		h.step(time.Hour, func() { h.coordinate(t, id, "bob") })
		require.True(t, h.mayRead("bob", id), "and the rules are cached")
		require.NoError(t, h.Sweep(t.Context()))
		require.True(t, h.mayRead("bob", id))
		h.clock.Advance(2*time.Minute + time.Microsecond)
		epoch := h.head(t, id).Epoch
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, epoch, h.head(t, id).Epoch, "once is enough")
		require.False(t, h.mayRead("bob", id))
		h.coordinate(t, id, "eve")
	})
}

// Times strictly rise even after the clock was set back, so the hash chain stays intact.
func TestTheLogOfAClockSetBackVerifies(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.step(time.Hour, func() { h.closeList(t, id) })
		h.coordinate(t, id, "bob")
		require.True(t, h.verify(t, id).GetValid())
		events := h.log(t, id)
		for i, event := range events[1:] {
			require.True(t, event.GetCreatedAt().AsTime().After(events[i].GetCreatedAt().AsTime()))
		}
	})
}

func TestALogAheadOfTheClockIsSaid(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var written bytes.Buffer
		counted := 0
		h.Service = New(Config{
			DB: h.db, Logger: slog.New(slog.NewTextHandler(&written, nil)), ObserveLead: func() { counted++ },
		})
		said := func() int { return strings.Count(written.String(), "the clock is behind") }
		no := h.numberOf(t, h.newIntent(t).GetId())
		comment := func() {
			require.NoError(t, h.inWrite(func(tx *database.Tx) error {
				heads, err := Lock(tx, no)
				require.NoError(t, err)
				_, err = heads[0].Log(EventDraft{Type: "comment", Actor: "ann"})
				return err
			}))
		}
		h.step(time.Second-time.Millisecond, comment)
		comment()
		require.Zero(t, counted, "clocks differ a little")
		h.step(time.Hour, comment)
		require.Zero(t, counted)
		comment()
		comment()
		require.Equal(t, 2, counted)
		require.Equal(t, 1, said(), "%s", &written)
		h.clock.Advance(leadWarnings)
		comment()
		require.Equal(t, 3, counted)
		require.Equal(t, 2, said())
		require.Contains(t, written.String(), "commits=2")
		h.clock.Advance(-leadWarnings)
		comment()
		require.Equal(t, 3, said(), "the clock was set back again")
	})
}
