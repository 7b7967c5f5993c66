package subscriptions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// A stream that takes over becomes active at once, and brings what the other one was sent and did not acknowledge. The other one is told
// that it stands by, whether it has sent anything or not, and goes on when its turn comes again.
func TestAStreamTakesOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		takeOver := func() *stream[wireDelivery] {
			return h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{AnnounceActive: ptr(true), TakeOver: ptr(true)})
		}
		announced := func(s *stream[wireDelivery], standingBy bool) {
			t.Helper()
			expected := &openintentv1.SubscriptionDelivery{SubscriptionId: sub.GetId(), StandingBy: standingBy}
			require.True(t, proto.Equal(expected, s.next(t)))
		}
		first := takeOver()
		announced(first, false)
		second := takeOver()
		announced(second, false)
		announced(first, true)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "one", textOf(second.next(t).GetMessage()))

		third := takeOver()
		announced(third, false)
		announced(second, true)
		again := third.next(t)
		require.Equal(t, "one", textOf(again.GetMessage()), "what was not acknowledged comes again")
		h.acknowledge(t, sub, again.GetNumber())
		h.send(t, "ann", channel, "bob", "two")
		require.Equal(t, "two", textOf(third.next(t).GetMessage()))

		// The end of the active stream lets one that stands by go on. It takes nothing over a second time.
		third.cancel()
		require.Error(t, third.end(t))
		select {
		case d := <-first.deliveries:
			require.Zero(t, d.GetNumber())
			require.Equal(t, "two", textOf(first.next(t).GetMessage()))
		case d := <-second.deliveries:
			require.Zero(t, d.GetNumber())
			require.Equal(t, "two", textOf(second.next(t).GetMessage()))
		}
	})
}

// A stream whose turn comes again is told again when it has everything: another one may have left something.
func TestAStreamTellsWhenItHasCaughtUpAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		told := func(s *stream[wireDelivery], expected *openintentv1.SubscriptionDelivery) {
			t.Helper()
			expected.SubscriptionId = sub.GetId()
			require.True(t, proto.Equal(expected, s.next(t)))
		}
		first := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{AnnounceActive: ptr(true), AnnounceCaughtUp: true})
		told(first, &openintentv1.SubscriptionDelivery{})
		told(first, &openintentv1.SubscriptionDelivery{CaughtUp: true})
		second := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{TakeOver: ptr(true)})
		told(first, &openintentv1.SubscriptionDelivery{StandingBy: true})
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "one", textOf(second.next(t).GetMessage()))
		second.cancel()
		require.Error(t, second.end(t))
		told(first, &openintentv1.SubscriptionDelivery{})
		require.Equal(t, "one", textOf(first.next(t).GetMessage()))
		told(first, &openintentv1.SubscriptionDelivery{CaughtUp: true})
	})
}

// Only those who may receive the deliveries may take over.
func TestOnlyTheSubscriberTakesOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		active := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{AnnounceActive: ptr(true)})
		require.Zero(t, active.next(t).GetNumber())
		_, err := h.tryStream(as("mallory"), t, sub, &openintentv1.StreamDeliveriesRequest{TakeOver: ptr(true)})
		require.Error(t, err)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "1:one", describe(active.next(t)))
	})
}

// What had its last attempt keeps its time to be acknowledged when another stream takes over, and goes on taking up room.
func TestATakeoverLeavesTheLastAttemptItsTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, MaxAttempts: ptr(int32(1))})
		request := &openintentv1.StreamDeliveriesRequest{AnnounceActive: ptr(true), MaxOutstanding: ptr(int32(1))}
		first := h.stream(t, sub, request)
		require.Zero(t, first.next(t).GetNumber(), "it is active")
		h.send(t, "ann", channel, "bob", "one")
		h.send(t, "ann", channel, "bob", "two")
		one := first.next(t)
		require.Equal(t, "one", textOf(one.GetMessage()))
		first.cancel()
		require.ErrorIs(t, first.end(t), context.Canceled)
		h.clock.Advance(time.Second)
		second := h.stream(t, sub, request)
		require.Zero(t, second.next(t).GetNumber(), "it is active")
		require.Equal(t, 1, h.rows(t, "subscription_deliveries", "due_at = given_up_at"))
		h.acknowledge(t, sub, one.GetNumber())
		require.Equal(t, "two", textOf(second.next(t).GetMessage()))
	})
}
