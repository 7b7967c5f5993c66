package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/intents"
	"openintent/internal/database"
)

// A time to live runs by the clock from the creation, the last message and a resumption, even if the log's times are an hour
// ahead of the clock.
func TestATimeToLiveFollowsTheClockOnALogAhead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		step := func(do func()) {
			h.clock.Advance(time.Hour)
			do()
			h.clock.Advance(-time.Hour)
		}
		touch := func() {
			require.NoError(t, h.onIntent(intentID, func(_ *database.Tx, head *intents.Head) error {
				head.Next()
				return nil
			}))
		}
		step(touch)
		lapses := func(id string) {
			t.Helper()
			h.clock.Advance(10*time.Second - time.Microsecond)
			require.Equal(t, open, h.get(t, id).GetStatus())
			require.NoError(t, h.channels.Sweep(t.Context()))
			h.clock.Advance(time.Microsecond)
			require.Equal(t, closed, h.get(t, id).GetStatus())
			require.Equal(t, h.clock.Now(), h.get(t, id).GetClosedAt().AsTime())
			require.NoError(t, h.channels.Sweep(t.Context()))
			require.Equal(t, h.clock.Now(), h.stored(t, id).ClosedAt)
		}
		lapses(h.withTTL(t, intentID, "created", 10))

		spoken := h.withTTL(t, intentID, "spoken", 10)
		h.clock.Advance(5 * time.Second)
		h.message(t, spoken)
		lapses(spoken)

		resumed := h.withTTL(t, intentID, "resumed", 10)
		lapsed := h.withTTL(t, intentID, "lapsed", 10)
		h.clock.Advance(9 * time.Second)
		h.message(t, resumed)
		require.NoError(t, h.setIntentStatus(t, intentID, statusSuspended))
		require.Equal(t, open, h.get(t, lapsed).GetStatus(), "a suspension closes channels that have lapsed by the clock, not by the log")
		h.clock.Advance(time.Minute)
		require.NoError(t, h.setIntentStatus(t, intentID, statusActive))
		lapses(resumed)
	})
}

// closed_at lies after the channel's last message in the order of the log, so it may lie ahead of the clock.
func TestAChannelClosesAfterItsLastMessageOnALogAhead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.withTTL(t, intentID, "n", 600)
		h.clock.Advance(time.Hour)
		require.NoError(t, h.onIntent(intentID, func(_ *database.Tx, head *intents.Head) error {
			head.Next()
			return nil
		}))
		h.clock.Advance(-time.Hour)
		var sent time.Time
		h.write(t, id, func(tx *database.Tx, head *intents.Head, _ Key) error {
			_, sent = head.Next()
			return nil
		})
		answer, err := h.closeChannel(as("alice"), id)
		require.NoError(t, err)
		require.Equal(t, closed, answer.GetStatus())
		require.True(t, answer.GetClosedAt().AsTime().After(sent))
		require.True(t, answer.GetClosedAt().AsTime().After(h.clock.Now()))
	})
}

// A member is added after its last departure, even if that has a time ahead of the clock.
func TestMembersThatDepartedAheadOfTheClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.clock.Advance(time.Hour)
		h.depart(t, "bob")
		h.clock.Advance(-time.Hour)
		made := h.create(t, "alice", &createRequest{
			IntentId: h.intent(t, "alice"), Name: "n", MemberPolicy: ptr(explicit), Members: []string{"alice", "bob"},
		})
		require.Equal(t, []string{"alice", "bob"}, made.GetMembers())
		other := h.create(t, "alice", &createRequest{
			IntentId: h.intent(t, "alice"), Name: "n", MemberPolicy: ptr(explicit), Members: []string{"alice"},
		})
		added, err := h.addMembers(as("alice"), other.GetId(), "bob")
		require.NoError(t, err)
		require.Equal(t, []string{"alice", "bob"}, added.GetMembers())
	})
}
