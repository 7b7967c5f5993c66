package subscriptions

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/subscriptions/delivering"
)

// All streams of an agent on a replica share what looks at its log. It goes with the last of them.
func TestStreamsOfAnAgentShareALook(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", talk, "bob", "before")
		var streams []*stream[wireOwn]
		for range 5 {
			s := h.follow(t, "bob", nil)
			requireNext(t, s, "0 caught up")
			streams = append(streams, s)
		}
		logs := h.subscriptions.ownLogs
		require.Equal(t, map[string]int{"bob": 5}, logs.Streams())
		for n := range 3 {
			h.send(t, "ann", talk, "bob", fmt.Sprint(n))
			for _, s := range streams {
				requireNext(t, s, fmt.Sprintf("%d %d", n+1, n))
			}
		}
		h.clock.Advance(2 * delivering.FreshFor)
		h.send(t, "ann", talk, "eve", "between others") // wakes the log, and no stream
		h.send(t, "ann", talk, "bob", "3")
		for _, s := range streams {
			requireNext(t, s, "4 3")
			s.cancel()
			require.ErrorIs(t, s.end(t), context.Canceled)
		}
		require.Empty(t, logs.Streams())
		logs.Wait()
		s := h.follow(t, "bob", ptr(int64(2)))
		requireNext(t, s, "3 2", "4 3", "4 caught up")
	})
}

// A running stream gets the messages that no wake-up announced, in order and once, and those that another replica has numbered.
func TestStreamsGetWhatNoWakeUpAnnounced(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL) // nobody looks without a wake-up
	talk, away := h.open(t, h.intent(t), "talk"), h.open(t, h.intent(t), "away")
	h.send(t, "ann", talk, "bob", "before")
	s := h.follow(t, "bob", nil)
	requireNext(t, s, "0 caught up")
	silent := h.replica(t)
	silent.send(t, "ann", talk, "bob", "one")
	silent.send(t, "ann", away, "bob", "two")
	h.pollAll(t)
	first, second := s.next(t), s.next(t)
	require.ElementsMatch(t, []string{"one", "two"}, []string{textOf(first.GetMessage()), textOf(second.GetMessage())})
	require.Equal(t, []int64{1, 2}, []int64{first.GetPosition(), second.GetPosition()})

	other := silent.follow(t, "bob", nil)
	requireNext(t, other, "2 caught up")
	silent.send(t, "ann", talk, "bob", "three")
	requireNext(t, other, "3 three")
	require.NoError(t, h.subscriptions.ownLogs.LookForNumbers(t.Context()))
	requireNext(t, s, "3 three")
}

// Streams come and go while messages are sent. Each gets every number once and in order, from where it began.
func TestStreamsOfAnAgentComeAndGo(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		first := h.follow(t, "bob", nil) // makes the log
		requireNext(t, first, "0 caught up")
		first.cancel()
		const count = 40
		var sent sync.WaitGroup
		sent.Go(func() {
			for n := range count {
				h.sendAside(t, "ann", talk, "bob", fmt.Sprint(n))
			}
		})
		var ended sync.WaitGroup
		for n := range 6 {
			s := h.follow(t, "bob", ptr(int64(0)))
			ended.Go(func() {
				for next := int64(1); next <= count; {
					d := s.next(t)
					if d.GetCaughtUp() {
						continue
					}
					if d.GetPosition() != next {
						t.Errorf("number %d instead of %d", d.GetPosition(), next)
						return
					}
					if next++; n%2 == 1 && next > count/2 {
						break
					}
				}
				s.cancel()
			})
		}
		sent.Wait()
		ended.Wait()
	})
}

// A stream that is a little behind takes what was numbered meanwhile, and reads nothing.
func TestAStreamThatIsBehindReadsNothing(t *testing.T) {
	eachEngineCounting(t, func(t *testing.T, h *house, read *contentReads) {
		talk := h.open(t, h.intent(t), "talk")
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		read.reset()
		for n := range 20 {
			h.send(t, "ann", talk, "bob", fmt.Sprint(n))
			eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "1 = 1") == n+1 }, "it is not numbered")
		}
		for n := range 20 {
			requireNext(t, s, fmt.Sprintf("%d %d", n+1, n))
		}
		require.LessOrEqual(t, read.messages.Load(), int64(20), "these were gathered")
	})
}
