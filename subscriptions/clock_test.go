package subscriptions

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/subscriptions/record"
)

// aDay is how far these tests set the clock back: much further than anything can wait.
const aDay = 24 * time.Hour

func TestAClockSetBackPutsOffNoPost(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var works atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if works.Load() {
				return http.StatusOK
			}
			return http.StatusBadRequest
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "late")
		eventually(t, func() bool { return h.get(t, sub).GetLastError() != "" }, "the post has failed")
		works.Store(true)
		h.clock.Advance(-aDay)
		require.Equal(t, "late", endpoint.await(t, 1)[0])
	}, webhooked, restless)
}

func TestAClockSetBackPutsOffNoDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(20)), MaxAttempts: ptr(int32(2)),
		})
		h.send(t, "ann", channel, "bob", "one")
		s := h.stream(t, sub, nil)
		require.Equal(t, int32(1), s.next(t).GetAttempt())
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "the delivery is stored")
		h.clock.Advance(-aDay)
		require.Equal(t, int32(2), s.next(t).GetAttempt())
		h.clock.Advance(-aDay)
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the delivery is given up")
	}, restless)
}

// behindAfterCommits lets each reading of the clock that follows a commit be behind the commit's own once behind is set, as happens on a
// replica that follows the database's clock.
func behindAfterCommits(behind *atomic.Bool) option {
	return func(s *settings) {
		var lag atomic.Int64
		clock := s.database.Clock
		s.database.Clock = func() time.Time { return clock().Add(-time.Duration(lag.Load())) }
		s.database.Hooks = database.Hooks{AfterCommit: func(context.Context) error {
			if behind.Load() {
				lag.Add(int64(record.ClockSkew / 10))
			}
			return nil
		}}
	}
}

func TestAClockThatIsBehindHidesNothingThatIsDue(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var behind atomic.Bool
			h := newHouse(t, engine, behindAfterCommits(&behind))
			channel := h.open(t, h.intent(t), "talk")
			streamed := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
			fetched := h.subscribe(t, "bob", &createInput{ChannelId: &channel, Name: ptr("fetched")})
			h.send(t, "ann", channel, "bob", "one")
			s := h.stream(t, streamed, nil)
			require.Equal(t, int32(1), s.next(t).GetAttempt())
			s.cancel()
			require.ErrorIs(t, s.end(t), context.Canceled)
			h.send(t, "ann", channel, "bob", "two")

			behind.Store(true)
			s = h.stream(t, streamed, &openintentv1.StreamDeliveriesRequest{AnnounceCaughtUp: true})
			again := s.next(t)
			require.Equal(t, "1:one", describe(again), "what was not acknowledged comes before what is newer")
			require.Equal(t, int32(2), again.GetAttempt())
			require.Equal(t, "2:two", describe(s.next(t)))
			require.True(t, s.next(t).GetCaughtUp())
			require.Equal(t, []string{"1:one", "2:two"}, described(h.fetch(t, fetched)), "a fetch that does not wait has what it found")
		})
	}
}

// lookedAt counts the readings of the clock. The function that it returns waits until whoever waits has certainly read it again.
func lookedAt(reads *atomic.Int64) (option, func(t *testing.T)) {
	counting := func(s *settings) {
		clock := s.database.Clock
		s.database.Clock = func() time.Time {
			reads.Add(1)
			return clock()
		}
	}
	return counting, func(t *testing.T) {
		t.Helper()
		enough := reads.Load() + 100
		eventually(t, func() bool { return reads.Load() >= enough }, "nobody looks at the clock")
	}
}

// A fetch waits for as long as its caller wants, also when the clock is set forward.
func TestAClockSetForwardEndsNoFetch(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			counting, untilLookedAt := lookedAt(new(atomic.Int64))
			h := newHouse(t, engine, restless, counting)
			channel := h.open(t, h.intent(t), "talk")
			found := h.fetchMeanwhile(t, h.subscribe(t, "bob", &createInput{ChannelId: &channel}))
			untilLookedAt(t)
			h.clock.Advance(aDay)
			untilLookedAt(t)
			h.send(t, "ann", channel, "bob", "one")
			require.Equal(t, []string{"1:one"}, described(<-found))
		})
	}
}

// Under a test, time is what the test's clock shows.
func TestAClockThatATestMovesEndsAFetch(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		found := h.fetchMeanwhile(t, h.subscribe(t, "bob", &createInput{}))
		eventually(t, func() bool { // the fetch may not have begun yet
			h.clock.Advance(fetchPatience)
			return len(found) > 0
		}, "the fetch waits on")
		require.Empty(t, <-found)
	}, restless, func(s *settings) { s.room.ClockEndsWaits = true })
}
