package messaging

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// counting counts the batches that took one round trip.
func counting(atOnce *atomic.Int64) option {
	return func(_ *database.Config, cfg *Config) {
		cfg.ObserveBatch = func(_ int, once bool) {
			if once {
				atOnce.Add(1)
			}
		}
	}
}

// forgetful lets the writer remember two intents and no more.
func forgetful(_ *database.Config, cfg *Config) { cfg.Kept = 2 }

// forget makes a forgetful house's writer forget all intents but two new ones.
func (h *house) forget(t require.TestingT) {
	for range 2 {
		h.say(t, "alice", h.open(t), "instead of what was said before")
	}
}

// eachRemembering runs a test on houses of each engine, with the number of batches that took one round trip.
func eachRemembering(t *testing.T, run func(t *testing.T, h *house, atOnce *atomic.Int64), options ...option) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var atOnce atomic.Int64
			run(t, newHouse(t, engine, append(options, counting(&atOnce))...), &atOnce)
		})
	}
}

func TestAConversationIsStoredAtOnce(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		h.register(t, "bob", "tester")
		id := h.explicit(t, "alice", "bob")
		question := h.asks(t, "alice", id, "bob")
		require.Zero(t, atOnce.Load(), "the first one reads")
		h.reply(t, "bob", id, question.GetId(), "first")
		h.reply(t, "bob", id, question.GetId(), "second")
		again := h.asks(t, "alice", id, "role:tester")
		h.reply(t, "bob", id, again.GetId(), "third")
		require.EqualValues(t, 4, atOnce.Load())

		messages := h.list(t, "alice", &listRequest{ChannelId: id})
		require.Len(t, messages, 5)
		for i, m := range messages[1:] {
			require.True(t, m.GetCreatedAt().AsTime().After(messages[i].GetCreatedAt().AsTime()))
		}
		require.EqualValues(t, 5, h.channel(t, id).GetMessageCount())
		key := h.key(t, id)
		require.Zero(t, h.rows(t, "open_requests", "intent_no = ?", key.IntentNo), "both are answered")
	})
}

func TestSeveralIntentsAreStoredAtOnce(t *testing.T) {
	var mutex sync.Mutex
	atOnce := make(map[string][]int)
	observed := func(cfg *configOfDatabase, own *Config) {
		own.ObserveBatch = func(size int, once bool) {
			mutex.Lock()
			defer mutex.Unlock()
			if once {
				atOnce[cfg.URL] = append(atOnce[cfg.URL], size)
			}
		}
	}
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		ids := []string{h.open(t), h.open(t), h.open(t)}
		for _, id := range ids {
			h.say(t, "alice", id, "one")
		}
		waiting, release := f.hold()
		defer release()
		stored := []*submitted{h.submit(t, ids[0], "alice", "two")}
		<-waiting
		for _, id := range ids[1:] {
			stored = append(stored, h.submit(t, id, "alice", "two"))
		}
		release()
		for _, s := range stored {
			require.NoError(t, (<-s.done).Err)
		}
		for _, id := range ids {
			require.Equal(t, []string{"one", "two"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		}
		mutex.Lock()
		defer mutex.Unlock()
		require.Equal(t, []int{1, 2}, atOnce[h.url])
	}, observed)
}

// What is remembered is only a guess: whatever changed meanwhile, by whomever, decides.
func TestWhatChangedSinceDecides(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, h *house, id string)
		kind   fault.Kind
		reason string
	}{
		"the member is removed": {
			func(t *testing.T, h *house, id string) { h.removeMember(t, id, "bob") }, fault.Denied, "NOT_A_MEMBER",
		},
		"the channel is closed": {
			func(t *testing.T, h *house, id string) { h.closeChannel(t, id) }, fault.Conflict, "CHANNEL_CLOSED",
		},
		"the intent has ended": {
			func(t *testing.T, h *house, id string) { h.setStatus(t, h.channel(t, id).GetIntentId(), completed) },
			fault.Conflict, "CHANNEL_CLOSED",
		},
		"the request is past its time": {
			func(_ *testing.T, h *house, _ string) { h.clock.Advance(time.Minute) }, fault.Conflict, "MESSAGE_EXPIRED",
		},
		"the request was expired by somebody whose clock is ahead": {
			func(t *testing.T, h *house, _ string) {
				h.clock.Advance(time.Minute)
				h.sweep(t)
				h.clock.Advance(-time.Minute)
			}, fault.Conflict, "MESSAGE_EXPIRED",
		},
		"the request was expired by somebody whose clock is ahead, and more was said since": {
			func(t *testing.T, h *house, id string) {
				h.clock.Advance(time.Minute)
				h.sweep(t)
				h.clock.Advance(-time.Minute)
				for range 3 {
					h.say(t, "alice", id, "so that the head is remembered again")
				}
			}, fault.Conflict, "MESSAGE_EXPIRED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
				h.register(t, "bob", "tester")
				id := h.explicit(t, "alice", "bob", "carol")
				ask := &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute)}
				other, question := h.send(t, "alice", ask), h.send(t, "alice", ask)
				h.reply(t, "bob", id, other.GetId(), "in time")
				require.EqualValues(t, 2, atOnce.Load())
				test.change(t, h, id)
				_, err := h.tryReply(as("bob"), id, question.GetId(), "too late")
				faulttest.Require(t, err, test.kind, test.reason)
			})
		})
	}
}

func TestAKeyStoredBySomebodyElseIsOneMessage(t *testing.T) {
	one, other := newReplicas(t, restless)
	id := one.open(t)
	send := func(h *house, text, key string) *wireMessage {
		return h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content(text), IdempotencyKey: &key})
	}
	for range 3 {
		one.say(t, "alice", id, "so that it is remembered")
	}
	first := send(one, "once", "k")
	require.Equal(t, first.GetId(), send(one, "once", "k").GetId())
	require.Equal(t, first.GetId(), send(other, "once", "k").GetId())
	require.Equal(t, first.GetId(), send(one, "once", "k").GetId())
	require.EqualValues(t, 4, one.channel(t, id).GetMessageCount())
}

// Two replicas that write into one intent in turn gain nothing by guessing, and lose nothing either.
func TestContestedIntentsAreReadFirst(t *testing.T) {
	t.Parallel()
	var atOnce atomic.Int64
	one, other := newReplicas(t, restless, counting(&atOnce))
	id := one.open(t)
	for range 3 {
		one.say(t, "alice", id, "a")
	}
	require.EqualValues(t, 2, atOnce.Load())
	for range 5 {
		other.say(t, "bob", id, "b")
		one.say(t, "alice", id, "a")
	}
	require.LessOrEqual(t, atOnce.Load(), int64(2), "each finds that the other has written")
	for range 3 {
		one.say(t, "alice", id, "a")
	}
	require.EqualValues(t, 4, atOnce.Load(), "alone again, one of them reads once more and then no longer")
	messages := one.list(t, "alice", &listRequest{ChannelId: id})
	require.Len(t, messages, 16)
	require.EqualValues(t, 16, one.channel(t, id).GetMessageCount())
	for i, m := range messages[1:] {
		require.True(t, m.GetCreatedAt().AsTime().After(messages[i].GetCreatedAt().AsTime()))
	}
}

// A departure counts from its own commit on, though nothing of the intent has changed yet.
func TestADepartureIsNoticedAtOnce(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		h.register(t, "bob", "tester")
		id := h.explicit(t, "alice", "bob")
		for range 2 {
			h.say(t, "bob", id, "a member")
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		}
		h.interrupted(t, f)
		_, err := h.messaging.SendMessage(as("bob"), &sendRequest{ChannelId: id})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, To: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "TARGET_NOT_A_MEMBER")
	})
}

// A first registration of a sender that was known to have no record changes what the role's messages reach.
func TestARoleTakenSinceCounts(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		id := h.open(t)
		question := h.asks(t, "alice", id, "role:tester")
		for range 2 {
			h.say(t, "bob", id, "here without a role")
		}
		require.EqualValues(t, 1, atOnce.Load())
		_, err := h.tryReply(as("bob"), id, question.GetId(), "not mine")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		h.register(t, "bob", "tester")
		h.reply(t, "bob", id, question.GetId(), "mine")
	})
}
