package messaging

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/writing"
)

// ahead writes to a channel while the clock is an hour ahead, and sets it back.
func (h *house) ahead(t require.TestingT, channelID string) *wireMessage {
	h.clock.Advance(time.Hour)
	m := h.send(t, "alice", &sendRequest{ChannelId: channelID, To: ptr("bob"), Payload: content("ahead")})
	h.clock.Advance(-time.Hour)
	return m
}

// Deadlines and waits follow the clock though the log's times go on an hour ahead of it. That holds of a batch that reads as
// well as of one that is stored at once.
func TestDeadlinesFollowTheClockAndNotTheLog(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		id := h.open(t)
		early := h.ahead(t, id)
		for _, path := range []string{"at once", "read"} {
			if path == "read" {
				h.forget(t)
			}
			before := atOnce.Load()
			note := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), ExpiresAt: h.in(10 * time.Minute)})
			require.Equal(t, path == "at once", atOnce.Load() > before)
			require.True(t, note.GetCreatedAt().AsTime().After(early.GetCreatedAt().AsTime()), "the log's times strictly rise")
			require.True(t, note.GetExpiresAt().AsTime().Before(note.GetCreatedAt().AsTime()))
			require.True(t, h.sees(t, "bob", note), path)
			require.Equal(t, delivered, h.get(t, id, note.GetId()).GetStatus())

			h.clock.Advance(10*time.Minute - time.Microsecond)
			h.sweep(t)
			require.True(t, h.sees(t, "bob", note))
			h.clock.Advance(time.Microsecond)
			require.False(t, h.sees(t, "bob", note), "%s: it expires in ten minutes and not in an hour", path)
			require.Equal(t, expired, h.get(t, id, note.GetId()).GetStatus())
			_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, ExpiresAt: h.in(0)})
			faulttest.RequireBadField(t, err, "expires_at")
			early = h.ahead(t, id)
		}
	}, forgetful)
}

func TestAnAskLastsAsLongAsItsTimeoutOnALogAhead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.ahead(t, id)
		begun := h.clock.Now()
		ask := h.askMeanwhile(as("alice"), t, id, 5)
		require.Equal(t, begun.Add(5*time.Second), ask.request.GetExpiresAt().AsTime())
		h.clock.Advance(5 * time.Second)
		requireTimeout(t, ask.result(t), ask.request)
		_, err := h.tryReply(as("bob"), id, ask.request.GetId(), "late")
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
	}, restless)
}

// A wait that is under way while the clock is set back lasts no longer for it.
func TestTheClockIsSetBackDuringAWait(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var reads atomic.Int64 // of the clock
			h := newHouse(t, engine, restless, func(cfg *configOfDatabase, _ *Config) {
				clock := cfg.Clock
				cfg.Clock = func() time.Time {
					reads.Add(1)
					return clock()
				}
			})
			// A waiting call reads the clock again and again.
			untilLookedAt := func() {
				enough := reads.Load() + 100
				eventually(t, func() bool { return reads.Load() >= enough }, "nobody looks at the clock")
			}
			id := h.open(t)
			ask := h.askMeanwhile(as("alice"), t, id, 5)
			h.clock.Advance(2 * time.Second)
			untilLookedAt()
			h.clock.Advance(-time.Hour)
			untilLookedAt()
			h.clock.Advance(3*time.Second + time.Millisecond)
			requireTimeout(t, ask.result(t), ask.request)
			require.Equal(t, expired, h.get(t, id, ask.request.GetId()).GetStatus(), "nobody can answer it any more")
		})
	}
}

func TestAWaitMovesBackWithTheClock(t *testing.T) {
	now := time.Unix(1000, 0)
	w := wait{until: now.Add(5 * time.Second)}
	require.Equal(t, 5*time.Second, w.remaining(now))
	require.Equal(t, 3*time.Second, w.remaining(now.Add(2*time.Second)))
	require.Equal(t, 3*time.Second, w.remaining(now.Add(-time.Hour)), "what was waited before the step counts")
	require.Equal(t, time.Second, w.remaining(now.Add(-time.Hour+2*time.Second)))
	require.Negative(t, w.remaining(now), "a clock that is set on ends it")
}

func TestAnIdempotencyKeyLivesByTheClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.ahead(t, id)
		first := h.send(t, "alice", keyed(id, "k", "one"))
		require.Equal(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "one")).GetId())
		h.clock.Advance(writing.KeyLifetime)
		require.Equal(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "one")).GetId(),
			"remembered for an hour longer, which the log is ahead")
		h.clock.Advance(time.Hour + time.Second)
		h.sweep(t)
		require.NotEqual(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "one")).GetId())
	})
}

// A departure ends requests and memberships from before it, and none from after it, whichever of them has a time ahead of the
// clock.
func TestADepartureAndAClockThatWasAhead(t *testing.T) {
	scenes := map[string]func(t *testing.T, h *house, id, private string) (before *wireMessage){
		"before the departure": func(t *testing.T, h *house, id, private string) (before *wireMessage) {
			h.clock.Advance(time.Hour)
			h.addMember(t, private, "bob")
			before = h.asks(t, "alice", id, "bob")
			h.clock.Advance(-time.Hour)
			h.deregister(t, "bob")
			require.NotContains(t, h.channel(t, private).GetMembers(), "bob")
			h.register(t, "bob", "")
			return before
		},
		"at the departure": func(t *testing.T, h *house, id, private string) (before *wireMessage) {
			h.addMember(t, private, "bob")
			before = h.asks(t, "alice", id, "bob")
			h.clock.Advance(time.Hour)
			h.deregister(t, "bob")
			h.clock.Advance(-time.Hour)
			require.NotContains(t, h.channel(t, private).GetMembers(), "bob")
			h.register(t, "bob", "")
			return before
		},
	}
	for name, depart := range scenes {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				id, private := h.open(t), h.explicit(t, "alice")
				h.register(t, "bob", "")
				before := depart(t, h, id, private)
				require.Equal(t, expired, h.get(t, id, before.GetId()).GetStatus())
				_, err := h.tryReply(as("bob"), id, before.GetId(), "")
				faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")

				after := h.asks(t, "alice", h.open(t), "bob")
				require.Equal(t, delivered, h.get(t, after.GetChannelId(), after.GetId()).GetStatus())
				h.reply(t, "bob", after.GetChannelId(), after.GetId(), "here again")
				h.addMember(t, private, "bob")
				require.Contains(t, h.channel(t, private).GetMembers(), "bob")
				h.say(t, "bob", private, "here again")
				require.Contains(t, h.channel(t, h.explicit(t, "bob")).GetMembers(), "bob")
			})
		})
	}
}

// The messages of an intent that ended while its log was ahead are removed when the retention has passed by the clock.
func TestRetentionCountsByTheClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.ahead(t, id)
		h.setStatus(t, h.channel(t, id).GetIntentId(), completed)
		key := h.key(t, id)
		h.clock.Advance(time.Hour - time.Second)
		h.sweep(t)
		require.NotZero(t, h.rows(t, "messages", "intent_no = ?", key.IntentNo))
		h.clock.Advance(2 * time.Second)
		h.sweep(t)
		require.Zero(t, h.rows(t, "messages", "intent_no = ?", key.IntentNo))
	}, func(_ *configOfDatabase, cfg *Config) { cfg.Retention = time.Hour })
}
