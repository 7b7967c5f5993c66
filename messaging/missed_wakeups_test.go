package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// deaf is a watch that no wake-up reaches, so that only LookForMissed wakes it.
type deaf struct {
	*Watch
	h *house
}

func (h *house) deaf(t *testing.T, agent string) deaf {
	d := deaf{h.messaging.Watch(Watched{Agent: agent}), h}
	t.Cleanup(d.Close)
	look(t, d.Watch)
	return d
}

// isWoken reports whether LookForMissed wakes the watch. If so, the watch looks.
func (d deaf) isWoken(t *testing.T) bool {
	_, _ = d.catchment.group.Noted() // as if these wake-ups had been lost
	wasWoken(d.listener)
	require.NoError(t, d.h.messaging.LookForMissed(t.Context()))
	woken := wasWoken(d.listener)
	if woken {
		look(t, d.Watch)
	}
	return woken
}

func TestWhatNoWakeUpToldOfIsFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk, away, listing := h.open(t), h.open(t), h.open(t)
		h.register(t, "bob", "smith")
		h.asks(t, "ann", talk, "bob")
		bob, eve := h.deaf(t, "bob"), h.deaf(t, "eve")
		require.False(t, bob.isWoken(t), "nothing has happened since it looked")

		h.asks(t, "ann", talk, "ann2")
		require.True(t, bob.isWoken(t), "a head moved where bob is reached")
		require.False(t, bob.isWoken(t))
		h.asks(t, "ann", away, "zoe")
		require.False(t, bob.isWoken(t), "bob is not reached there")
		h.asks(t, "ann", away, "bob")
		require.True(t, bob.isWoken(t), "bob begins to be reached")
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{
			IntentId: h.channel(t, listing).GetIntentId(), AgentId: "bob",
		})
		require.NoError(t, err)
		require.True(t, bob.isWoken(t), "an intent now names the agent")
		require.False(t, bob.isWoken(t))

		h.asks(t, "ann", h.open(t), "role:smith")
		require.True(t, bob.isWoken(t), "the role begins to be reached")
		h.explicit(t, "creator", "bob")
		require.True(t, bob.isWoken(t), "a channel now lists the agent")
		require.False(t, bob.isWoken(t))

		require.False(t, eve.isWoken(t))
		h.register(t, "eve", "smith")
		require.True(t, eve.isWoken(t), "the agent now holds a role")
		require.False(t, eve.isWoken(t))
	})
}

// When the agent's record has changed, one watch has everything read anew. LookForMissed does not find that for the other watches, so they
// are woken.
func TestWhatOneWatchHasReadWakesTheOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t)
		h.asks(t, "ann", talk, "bob")
		bob, reading := h.deaf(t, "bob"), h.deaf(t, "bob")
		h.asks(t, "ann", talk, "bob")
		_, _ = reading.catchment.group.Noted() // as if this wake-up had been lost
		wasWoken(bob.listener)
		reading.Refresh()
		look(t, reading.Watch)
		require.True(t, wasWoken(bob.listener))
		require.Contains(t, look(t, bob.Watch).Intents, h.key(t, talk).IntentNo)
	})
}

// A change that is committed after a look may have been decided before it.
func TestWhatWasCommittedLateIsFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t)
		h.asks(t, "ann", talk, "bob")
		bob := h.deaf(t, "bob")
		bob.isWoken(t)
		decided := h.clock.Now()
		h.clock.Advance(commitLag / 2)
		bob.isWoken(t)
		h.asks(t, "ann", talk, "bob")
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "UPDATE intent_heads SET moved_in = ?", Args: []any{database.Micros(decided) / (10 * time.Second).Microseconds()},
			})
		}))
		require.True(t, bob.isWoken(t), "decided earlier")

		h.clock.Advance(-time.Hour) // the clock is set back
		h.asks(t, "ann", talk, "bob")
		require.True(t, bob.isWoken(t), "by the earlier clock")
		h.clock.Advance(2 * time.Hour)
		h.asks(t, "ann", talk, "bob")
		require.True(t, bob.isWoken(t), "by the later clock")
	})
}

// If a head goes back because commits were lost, that is also a change, although the latest change of the head is old. The watch is told
// from where on the log may be another one.
func TestAHeadThatWentBackIsFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t)
		h.asks(t, "ann", talk, "bob")
		bob := h.deaf(t, "bob")
		no := h.key(t, talk).IntentNo
		kept := bob.catchment.intents[no].lastPosition
		past := databasetest.Remember(t, h.db, "before")
		h.clock.Advance(10 * commitLag)
		h.asks(t, "ann", talk, "bob")
		require.True(t, bob.isWoken(t))
		require.False(t, bob.isWoken(t))
		past.PutBack(t)
		_, _ = bob.catchment.group.Noted()
		require.NoError(t, h.messaging.LookForMissed(t.Context()))
		require.True(t, wasWoken(bob.listener))
		require.Equal(t, map[int64]Move{no: {Since: kept, Ruled: true}}, look(t, bob.Watch).Intents)
		require.False(t, bob.isWoken(t))
	})
}

// A log that has lost entries may have grown beyond them again when somebody looks. The watch is told of it, although what lies beyond the
// place up to which it had looked is for others.
func TestALogThatWasReplacedIsFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t)
		h.asks(t, "ann", talk, "bob")
		bob := h.deaf(t, "bob")
		no := h.key(t, talk).IntentNo
		past := databasetest.Remember(t, h.db, "before")
		for range 3 {
			h.asks(t, "ann", talk, "zoe")
		}
		require.True(t, bob.isWoken(t))
		past.PutBack(t)
		h.clock.Advance(time.Second)
		h.asks(t, "ann", talk, "bob")
		for range 3 {
			h.asks(t, "ann", talk, "zoe")
		}
		_, _ = bob.catchment.group.Noted()
		require.NoError(t, h.messaging.LookForMissed(t.Context()))
		require.True(t, wasWoken(bob.listener))
		require.Equal(t, map[int64]Move{no: {Ruled: true, Addressed: true}}, look(t, bob.Watch).Intents)
		require.False(t, bob.isWoken(t))
		h.asks(t, "ann", talk, "bob")
		require.True(t, wasWoken(bob.listener), "it listens on")
	})
}

// LookForMissed may run after the first look of a watch of one intent and before that notes what it saw.
func TestAWatchOfOneIntentMissesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t)
		no := h.key(t, talk).IntentNo
		state := func() (state intents.State) {
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				states, read := intents.PrepareStates(tx, []int64{no})
				err := tx.Pipeline(read)
				state = (*states)[0]
				return err
			}))
			return state
		}
		w := h.messaging.Watch(Watched{Agent: "bob", IntentNo: no})
		defer w.Close()
		isWoken := func() bool {
			wasWoken(w.listener)
			require.NoError(t, h.messaging.LookForMissed(t.Context()))
			return wasWoken(w.listener)
		}
		seen := state()
		h.say(t, "ann", talk, "after it looked")
		require.True(t, isWoken())
		w.Saw(seen)
		h.say(t, "ann", talk, "once more")
		require.True(t, wasWoken(w.listener))
		require.True(t, isWoken())
		w.Saw(state())
		require.False(t, isWoken(), "it has seen everything")
		w.Close()
		require.Empty(t, h.messaging.catchments.narrow)
	})
}
