package subscriptions

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// unhurried makes a replica store what its streams have sent only when somebody waits for that.
func (r rooms) unhurried() { r.subscriptions.settler.Delay = time.Hour }

// warmUp brings a stream to the point from which on it sends before it stores, and returns the last number that it has given.
func (r rooms) warmUp(t *testing.T, s *stream[wireDelivery], sub *openintentv1.Subscription, channelID string) (number int64) {
	found, err := r.subscriptions.find(as(sub.GetSubscriberId()), sub.GetId())
	require.NoError(t, err)
	for r.subscriptions.settler.Of(found.No) == nil {
		r.send(t, "ann", channelID, sub.GetSubscriberId(), "first")
		number = s.next(t).GetNumber()
		r.acknowledge(t, sub, number)
	}
	return number
}

func TestWhatIsAcknowledgedSoonIsNeverStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, nil)
		last := h.warmUp(t, s, sub, channel)
		for _, text := range []string{"one", "two", "three"} {
			h.send(t, "ann", channel, "bob", text)
			require.Equal(t, text, textOf(s.next(t).GetMessage()))
		}
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))
		state := h.acknowledge(t, sub, last+1, last+3)
		require.Equal(t, last+1, state.GetAcknowledgedThrough())
		require.Equal(t, last+3, state.GetLastNumber())
		require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"), "only what is not acknowledged is stored")
		_, err := h.tryAcknowledge(sub, 0, last+4)
		faulttest.Require(t, err, fault.Invalid, "NOT_DELIVERED")
		h.acknowledge(t, sub, last+2, last+1)
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))

		s.cancel()
		require.ErrorIs(t, s.end(t), context.Canceled)
		h.clock.Advance(time.Hour)
		h.send(t, "ann", channel, "bob", "four")
		require.Equal(t, []string{fmt.Sprintf("%d:four", last+4)}, described(h.fetch(t, sub)), "a stream that ends gives the rest of its numbers back")
	})
}

// A stream sends something, and another one takes over before it is stored. It comes again under a new number, and nobody can
// acknowledge the number that was lost.
func TestWhatAReplacedStreamDidNotStoreComesAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	first := h.stream(t, sub, nil)
	h.warmUp(t, first, sub, channel)
	h.send(t, "ann", channel, "bob", "one")
	h.send(t, "ann", channel, "bob", "one more")
	lost, next := first.next(t), first.next(t)
	h.clock.Advance(time.Minute) // nobody has renewed the lease
	second := other.stream(t, sub, nil)
	again, further := second.next(t), second.next(t)
	require.Equal(t, lost.GetMessage().GetId(), again.GetMessage().GetId())
	require.Greater(t, again.GetNumber(), next.GetNumber())
	require.Equal(t, int32(1), again.GetAttempt())
	for _, r := range []rooms{other, h.rooms} {
		_, err := r.tryAcknowledge(sub, 0, lost.GetNumber())
		faulttest.Require(t, err, fault.VersionMismatch, "DELIVERY_COMES_AGAIN")
		_, err = r.tryAcknowledge(sub, lost.GetNumber())
		require.NoError(t, err, "a cumulative acknowledgement leaves it alone")
		_, err = r.tryAcknowledge(sub, 0, again.GetNumber(), next.GetNumber(), lost.GetNumber())
		faulttest.Require(t, err, fault.VersionMismatch, "DELIVERY_COMES_AGAIN")
		require.Equal(t, fmt.Sprint(lost.GetNumber()), fault.From(err).Metadata["number"])
		require.Equal(t, fmt.Sprint(next.GetNumber()), fault.From(err).Metadata["through"], "one refusal names both")
	}
	require.Equal(t, int64(2), h.get(t, sub).GetOutstandingCount())
	other.acknowledge(t, sub, again.GetNumber(), further.GetNumber())
	other.send(t, "ann", channel, "bob", "two")
	require.Equal(t, "two", textOf(second.next(t).GetMessage()))
	select {
	case d := <-first.deliveries:
		require.Fail(t, "the first stream stands by", "%v", d)
	default:
	}
}

// Storing an acknowledgement stores nothing that was sent after it and is still young. It comes again after a takeover, and what is
// acknowledged does not.
func TestAnAcknowledgementStoresNothingYounger(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	h.unhurried()
	sub := h.subscribe(t, "bob", &createInput{})
	talk, aside := h.open(t, h.intent(t), "talk"), h.open(t, h.intent(t), "aside")
	first := h.stream(t, sub, nil)
	h.warmUp(t, first, sub, talk)
	h.warmUp(t, first, sub, aside)
	var numbers []int64
	for _, text := range []string{"one", "two", "three"} {
		for _, channel := range []string{talk, aside} {
			h.send(t, "ann", channel, "bob", text)
			numbers = append(numbers, first.next(t).GetNumber())
		}
	}
	state := h.acknowledge(t, sub, numbers[0], numbers[2]) // one and two of the talk
	require.Equal(t, int64(4), state.GetOutstandingCount())
	require.Equal(t, numbers[0], state.GetAcknowledgedThrough())
	require.Equal(t, numbers[5], state.GetLastNumber())
	require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"), "one of the side talk was sent before what is acknowledged")
	require.Equal(t, numbers[2], h.get(t, sub).GetLastNumber())

	h.clock.Advance(time.Minute) // nobody has renewed the lease
	second := other.stream(t, sub, nil)
	var came []string
	for range 4 {
		came = append(came, textOf(second.next(t).GetMessage()))
	}
	require.ElementsMatch(t, []string{"one", "two", "three", "three"}, came)
}

// An acknowledgement at another replica waits until the delivery is stored.
func TestAcknowledgingAtAnotherReplica(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s := h.stream(t, sub, nil)
	last := h.warmUp(t, s, sub, channel)
	for _, text := range []string{"one", "two", "three"} {
		h.send(t, "ann", channel, "bob", text)
		d := s.next(t)
		require.Equal(t, text, textOf(d.GetMessage()))
		state := other.acknowledge(t, sub, d.GetNumber())
		require.Equal(t, d.GetNumber(), state.GetAcknowledgedThrough())
	}
	require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))
	_, err := other.tryAcknowledge(sub, 0, last+4)
	faulttest.Require(t, err, fault.Unavailable, "DELIVERY_NOT_STORED")
	_, err = other.tryAcknowledge(sub, 0, 100_000)
	faulttest.Require(t, err, fault.Invalid, "NOT_DELIVERED")
}

// If storing fails, or its outcome is unknown, nothing is lost: what is not acknowledged comes again.
func TestAFailureToStoreWhatWasSentLosesNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		for name, stored := range map[string]bool{"stored": true, "lost": false} {
			t.Run(engine.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				testFailureToStore(t, engine, stored)
			})
		}
	}
}

func testFailureToStore(t *testing.T, engine database.Engine, stored bool) {
	var fails atomic.Bool
	failing := func(when bool) func(context.Context) error {
		return func(ctx context.Context) error {
			if _, calls := caller.From(ctx); !calls && when && fails.Load() {
				return databasetest.ErrInjected
			}
			return nil
		}
	}
	h := newHouse(t, engine, func(s *settings) {
		s.database.Hooks = database.Hooks{BeforeCommit: failing(!stored), AfterCommit: failing(stored)}
	})
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s := h.stream(t, sub, nil)
	h.warmUp(t, s, sub, channel)
	h.send(t, "ann", channel, "bob", "one")
	one := s.next(t)
	h.send(t, "ann", channel, "bob", "two")
	two := s.next(t)
	fails.Store(true)
	_, err := h.tryAcknowledge(sub, 0, one.GetNumber())
	require.Error(t, err)
	fails.Store(false)
	came := s.next(t)
	if !stored {
		require.Equal(t, "one", textOf(came.GetMessage()), "nobody was told that it is finished")
		h.acknowledge(t, sub, came.GetNumber())
		came = s.next(t)
	}
	require.Equal(t, two.GetMessage().GetId(), came.GetMessage().GetId())
	h.acknowledge(t, sub, came.GetNumber())
	h.send(t, "ann", channel, "bob", "three")
	require.Equal(t, "three", textOf(s.next(t).GetMessage()))
}

// A stream that ends in order stores that it has sent a delivery, so the delivery never comes again as a first attempt.
func TestWhatAStreamThatEndedInOrderSentComesAgainAsASecondAttempt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		first := h.stream(t, sub, nil)
		h.warmUp(t, first, sub, channel)
		h.send(t, "ann", channel, "bob", "one")
		sent := first.next(t)
		require.Equal(t, int32(1), sent.GetAttempt())
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"), "it is not stored yet")
		first.cancel()
		require.ErrorIs(t, first.end(t), context.Canceled)
		again := h.stream(t, sub, nil).next(t)
		require.Equal(t, sent.GetNumber(), again.GetNumber())
		require.Equal(t, int32(2), again.GetAttempt())
	})
}
