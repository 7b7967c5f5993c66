package subscriptions

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

func TestStreamDeliversAndTakesAcknowledgements(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		sub := h.subscribe(t, "bob", &createInput{IntentId: &intent})
		h.send(t, "ann", channel, "bob", "one")
		s := h.stream(t, sub, nil)
		require.Equal(t, []string{"0"}, s.accepted.Get(messaging.PositionHeader))
		require.Equal(t, "1:one", describe(s.next(t)))
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: intent, AgentId: "bob"})
		require.NoError(t, err)
		require.Equal(t, "2:!agent_assigned", describe(s.next(t)))
		h.send(t, "ann", channel, "bob", "three")
		require.Equal(t, "3:three", describe(s.next(t)))
		s.cancel()
		require.ErrorIs(t, s.end(t), context.Canceled)

		s = h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{AcknowledgedThrough: ptr(int64(2))})
		require.Equal(t, []string{"2"}, s.accepted.Get(messaging.PositionHeader))
		h.send(t, "ann", channel, "bob", "four")
		third := s.next(t)
		require.Equal(t, "3:three", describe(third), "unacknowledged deliveries come before new ones")
		require.Equal(t, int32(2), third.GetAttempt())
		require.Equal(t, "4:four", describe(s.next(t)))

		_, err = h.tryStream(as("bob"), t, sub, &openintentv1.StreamDeliveriesRequest{AcknowledgedThrough: ptr(int64(9))})
		faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")
	})
}

func TestStreamHoldsBackBeyondItsWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		for i := range 5 {
			h.send(t, "ann", channel, "bob", fmt.Sprint(i+1))
		}
		s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(2))})
		require.Equal(t, "1:1", describe(s.next(t)))
		require.Equal(t, "2:2", describe(s.next(t)))
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 2 }, "")
		h.acknowledge(t, sub, 1)
		require.Equal(t, "3:3", describe(s.next(t)))
		h.acknowledge(t, sub, 2, 3)
		require.Equal(t, "4:4", describe(s.next(t)))
		require.Equal(t, "5:5", describe(s.next(t)))
	})
}

func TestStreamRedeliversByTheClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(20)), MaxAttempts: ptr(int32(2)),
		})
		h.send(t, "ann", channel, "bob", "one")
		s := h.stream(t, sub, nil)
		require.Equal(t, int32(1), s.next(t).GetAttempt())
		h.clock.Advance(20 * time.Second)
		again := s.next(t)
		require.Equal(t, "1:one", describe(again))
		require.Equal(t, int32(2), again.GetAttempt())
		h.clock.Advance(20 * time.Second)
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the delivery is given up")
		_, err := h.redrive(sub)
		require.NoError(t, err)
		require.Equal(t, int32(1), s.next(t).GetAttempt())
	}, restless)
}

func TestFurtherStreamsStandBy(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		first := h.stream(t, sub, nil)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "1:one", describe(first.next(t)))
		second := h.stream(t, sub, nil)
		_, err := h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_IN_USE")
		h.send(t, "ann", channel, "bob", "two")
		require.Equal(t, "2:two", describe(first.next(t)))
		first.cancel()
		require.ErrorIs(t, first.end(t), context.Canceled)
		h.send(t, "ann", channel, "bob", "three")
		require.Equal(t, "1:one", describe(second.next(t)), "a wake-up alone makes the second stream active")
		require.Equal(t, "2:two", describe(second.next(t)))
		require.Equal(t, "3:three", describe(second.next(t)))
		second.cancel()
		require.ErrorIs(t, second.end(t), context.Canceled)
		h.send(t, "ann", channel, "bob", "four")
		require.Equal(t, []string{"4:four"}, described(h.fetch(t, sub)), "no stream is left")
	})
}

// A client that asks for it is told whether its stream is active or stands by. Until the stream is active, the client must not
// interfere with the client of the active stream.
func TestAStreamTellsWhetherItIsActive(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		announcing := &openintentv1.StreamDeliveriesRequest{AnnounceActive: ptr(true)}
		announced := func(s *stream[wireDelivery], standingBy bool) {
			t.Helper()
			expected := &openintentv1.SubscriptionDelivery{SubscriptionId: sub.GetId(), StandingBy: standingBy}
			require.True(t, proto.Equal(expected, s.next(t)))
		}
		first := h.stream(t, sub, announcing)
		announced(first, false)
		second := h.stream(t, sub, announcing)
		announced(second, true)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "1:one", describe(first.next(t)))
		select {
		case d := <-second.deliveries:
			require.Fail(t, "the stream stands by, and has already announced that", "%v", d)
		default:
		}
		first.cancel()
		require.ErrorIs(t, first.end(t), context.Canceled)
		announced(second, false)
		require.Equal(t, "1:one", describe(second.next(t)))
	})
}

// A client that asks for it is told once, each time its stream becomes the active one, that it has everything that was due. A full window ends
// that, too: nothing more comes before the client acknowledges.
func TestAStreamTellsWhenItHasCaughtUp(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		catchingUp := &openintentv1.StreamDeliveriesRequest{AnnounceCaughtUp: true, MaxOutstanding: ptr(int32(2))}
		caughtUp := func(s *stream[wireDelivery]) {
			t.Helper()
			require.True(t, proto.Equal(&openintentv1.SubscriptionDelivery{SubscriptionId: sub.GetId(), CaughtUp: true}, s.next(t)))
		}
		first := h.stream(t, sub, catchingUp)
		caughtUp(first)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "1:one", describe(first.next(t)))
		second := h.stream(t, sub, catchingUp)
		h.send(t, "ann", channel, "bob", "two")
		require.Equal(t, "2:two", describe(first.next(t)), "it is told once")
		h.send(t, "ann", channel, "bob", "three")
		first.cancel()
		require.ErrorIs(t, first.end(t), context.Canceled)
		require.Equal(t, "1:one", describe(second.next(t)), "a stream that stands by is not told")
		require.Equal(t, "2:two", describe(second.next(t)))
		caughtUp(second)
		h.acknowledge(t, sub, 1, 2)
		require.Equal(t, "3:three", describe(second.next(t)))
	})
}

// When another process can open the file, the previous process is gone, whether or not it released its lease.
func TestOnSQLiteTheNextProcessNeedNotWaitForADeadConsumer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.SQLite)
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	found, err := h.subscriptions.find(as("bob"), sub.GetId())
	require.NoError(t, err)
	require.NoError(t, h.subscriptions.changes.Change(t.Context(), found.No, record.Wanted{}, func(c *record.Change) error {
		c.Locked.Consumer, c.Locked.ConsumerUntil = "of a process that died", c.Now.Add(record.LeaseTime)
		return nil
	}))
	h.send(t, "ann", channel, "bob", "one")
	_, err = h.tryFetch(as("bob"), sub, 1)
	faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_IN_USE")
	h.subscriptions.Stop()
	h.messaging.Stop()
	require.NoError(t, h.db.Close())
	h.rooms = h.replica(t)
	require.Equal(t, []string{"1:one"}, described(h.fetch(t, sub)))
}

// A replica that dies releases nothing; the database's time decides when its lease ends.
func TestAnotherReplicaTakesOverFromADeadOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, restless)
	other := h.replica(t, restless)
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	first := h.stream(t, sub, nil)
	h.send(t, "ann", channel, "bob", "one")
	require.Equal(t, "1:one", describe(first.next(t)))
	second := other.stream(t, sub, nil)

	// The first stream hangs: its client accepts nothing, and nobody renews its lease.
	h.send(t, "ann", channel, "bob", "two")
	eventually(t, func() bool { return h.hanging() == 1 }, "")
	h.send(t, "ann", channel, "bob", "three")
	h.clock.Advance(time.Minute)
	var numbers []int64
	for _, text := range []string{"one", "two", "three"} {
		d := second.next(t)
		require.Equal(t, text, textOf(d.GetMessage()))
		numbers = append(numbers, d.GetNumber())
	}
	require.Equal(t, "2:two", describe(first.next(t)), "it may still deliver what it was already sending")
	other.acknowledge(t, sub, numbers...)
	h.send(t, "ann", channel, "bob", "four")
	four := second.next(t)
	require.Equal(t, "four", textOf(four.GetMessage()), "then the first stream stands by")
	require.Greater(t, four.GetNumber(), numbers[2])
}

func TestConsumersAreVouchedForWhileTheyLive(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		first := h.stream(t, sub, nil)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, "1:one", describe(first.next(t)))
		h.acknowledge(t, sub, 1)
		eventually(t, func() bool { return h.hanging() == 0 }, "the stream did not return from sending")
		for range 5 {
			h.clock.Advance(record.LeaseTime - time.Second)
			require.NoError(t, h.subscriptions.supplier.Renew(context.Background()))
		}
		_, err := h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_IN_USE")

		h.send(t, "ann", channel, "bob", "two") // nobody receives it, so the stream hangs in Send
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "")
		eventually(t, func() bool { return h.hanging() == 1 }, "")
		for range 3 { // more often than the lease of a client that hangs is renewed
			require.NoError(t, h.subscriptions.supplier.Renew(context.Background()))
		}
		h.clock.Advance(record.LeaseTime)
		require.NoError(t, h.subscriptions.supplier.Renew(context.Background()))
		h.clock.Advance(time.Minute)
		require.Equal(t, []string{"2:two"}, described(h.fetch(t, sub)))
	})
}

// hanging returns how many consumers wait for their clients.
func (r rooms) hanging() (count int) {
	_, count = r.subscriptions.supplier.Consuming()
	return count
}

func TestStreamsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		h.register(t, "bob", "")

		deleted := h.subscribe(t, "bob", &createInput{})
		s := h.stream(t, deleted, nil)
		_, err := h.subscriptions.DeleteSubscription(as("bob"),
			&openintentv1.DeleteSubscriptionRequest{SubscriptionId: deleted.GetId()})
		require.NoError(t, err)
		faulttest.Require(t, s.end(t), fault.NotFound, "SUBSCRIPTION_NOT_FOUND")

		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s = h.stream(t, sub, nil)
		h.send(t, "ann", channel, "bob", "last")
		require.Equal(t, "1:last", describe(s.next(t)))
		h.closeChannel(t, channel)
		h.acknowledge(t, sub, 1)
		faulttest.Require(t, s.end(t), fault.Conflict, "CHANNEL_CLOSED")
		_, err = h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")

		sub = h.subscribe(t, "bob", &createInput{IntentId: &intent})
		s = h.stream(t, sub, nil)
		h.admit(t, intent, "ann")
		faulttest.Require(t, s.end(t), fault.Denied, "FORBIDDEN")

		wide := h.subscribe(t, "bob", &createInput{})
		s = h.stream(t, wide, nil)
		h.deregister(t, "bob")
		faulttest.Require(t, s.end(t), fault.Conflict, "SUBSCRIPTION_ENDED")
		_, err = h.tryStream(as("bob"), t, wide, nil)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_ENDED")
	})
}

func TestStreamsEndWhenTheSubscriptionExpires(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &createInput{ExpiresAt: h.in(time.Minute)})
		s := h.stream(t, sub, nil)
		h.clock.Advance(time.Minute)
		faulttest.Require(t, s.end(t), fault.Conflict, "SUBSCRIPTION_ENDED")
	}, restless)
}

func TestStreamReadsAgainWhatWaitedForASlowClient(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		h.register(t, "bob", "smith")
		sub := h.subscribe(t, "bob", &createInput{})
		for _, text := range []string{"one", "two", "three"} {
			h.send(t, "ann", channel, "role:smith", text)
		}
		h.send(t, "ann", channel, "bob", "direct")
		s := h.stream(t, sub, nil)
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "the stream sends the first one")
		require.Equal(t, "one", textOf(s.next(t).GetMessage()))
		h.register(t, "bob", "cook")
		h.clock.Advance(2 * delivering.FreshFor)
		for text := textOf(s.next(t).GetMessage()); text != "direct"; text = textOf(s.next(t).GetMessage()) {
			require.Equal(t, "two", text, "it delivers only what it was already sending")
		}
	})
}

// While the database is unavailable, a stream waits, and then it continues.
func TestStreamsOutliveTheDatabasesAbsence(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, restless)
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s, own := h.stream(t, sub, nil), h.follow(t, "bob", nil)
	require.True(t, own.next(t).GetCaughtUp())
	for i := range 3 {
		databasetest.KillConnections(t, h.url)
		text := fmt.Sprint(i)
		eventually(t, func() bool {
			_, err := h.messaging.SendMessage(as("ann"), &openintentv1.SendMessageRequest{
				ChannelId: channel, To: ptr("bob"), Payload: content(text), IdempotencyKey: &text,
			})
			return err == nil
		}, "")
		require.Equal(t, text, textOf(s.next(t).GetMessage()))
		require.Equal(t, text, textOf(own.next(t).GetMessage()))
	}
}
