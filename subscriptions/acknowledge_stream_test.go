package subscriptions

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/ledger"
)

// acknowledgements is a running stream of acknowledgements with both its sides.
type acknowledgements struct {
	grpc.ServerStream
	ctx      context.Context
	cancel   context.CancelCauseFunc
	requests chan *openintentv1.StreamAcknowledgementsRequest
	answer   *openintentv1.StreamAcknowledgementsResponse // set before ended has something
	ended    chan error
}

func (a *acknowledgements) Context() context.Context { return a.ctx }

func (a *acknowledgements) Recv() (*openintentv1.StreamAcknowledgementsRequest, error) {
	if request, open := <-a.requests; open {
		return request, nil
	}
	return nil, io.EOF
}

func (a *acknowledgements) SendAndClose(answer *openintentv1.StreamAcknowledgementsResponse) error {
	a.answer = answer
	return nil
}

// acknowledging begins a stream of acknowledgements of a subscription.
func (r rooms) acknowledging(ctx context.Context, t *testing.T, sub *openintentv1.Subscription) *acknowledgements {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &acknowledgements{
		ctx: ctx, cancel: cancel, requests: make(chan *openintentv1.StreamAcknowledgementsRequest), ended: make(chan error, 1),
	}
	go func() {
		defer cancel(nil)
		a.ended <- r.subscriptions.StreamAcknowledgements(a)
	}()
	a.send(t, &openintentv1.StreamAcknowledgementsRequest{SubscriptionId: sub.GetId()})
	return a
}

// send sends a request, and returns when the service has received it or has ended the stream.
func (a *acknowledgements) send(t *testing.T, request *openintentv1.StreamAcknowledgementsRequest) {
	select {
	case a.requests <- request:
	case err := <-a.ended:
		a.ended <- err
	case <-time.After(patience):
		require.Fail(t, "nobody takes the request")
	}
}

// acknowledge acknowledges numbers, and returns when the service has dealt with them.
func (a *acknowledgements) acknowledge(t *testing.T, numbers ...int64) {
	a.send(t, &openintentv1.StreamAcknowledgementsRequest{Numbers: numbers})
	a.send(t, &openintentv1.StreamAcknowledgementsRequest{}) // the service receives it when it takes up the one before,
	a.send(t, &openintentv1.StreamAcknowledgementsRequest{}) // and this one when it has dealt with that
}

// end ends the client's side, and returns how many deliveries the answer says are acknowledged.
func (a *acknowledgements) end(t *testing.T) (int64, error) {
	close(a.requests)
	select {
	case err := <-a.ended:
		return a.answer.GetAcknowledged(), err
	case <-time.After(patience):
		require.Fail(t, "the stream is not answered")
		return 0, nil
	}
}

func TestAcknowledgementsOnAStreamAreStoredTogether(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, nil)
		last := h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		for range 3 {
			h.send(t, "ann", channel, "bob", "work")
			a.acknowledge(t, s.next(t).GetNumber())
		}
		require.Equal(t, last, h.get(t, sub).GetAcknowledgedThrough(), "nothing is stored yet")
		count, err := a.end(t)
		require.NoError(t, err)
		require.Equal(t, int64(3), count)
		require.Equal(t, last+3, h.get(t, sub).GetAcknowledgedThrough())
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))

		s.cancel()
		require.ErrorIs(t, s.end(t), context.Canceled)
		h.clock.Advance(time.Hour)
		require.Empty(t, h.fetch(t, sub))
	})
}

// Nobody has to end the stream for that.
func TestAcknowledgementsOnAStreamAreStoredSoon(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, nil)
		last := h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		h.send(t, "ann", channel, "bob", "work")
		a.acknowledge(t, s.next(t).GetNumber())
		eventually(t, func() bool { return h.get(t, sub).GetAcknowledgedThrough() == last+1 }, "it is not stored")
		_, err := a.end(t)
		require.NoError(t, err)
	})
}

// A stream of deliveries whose client has as many as it may goes on when they are acknowledged, and not only when that is stored. Without
// that it would look again after longer and longer times, for the last of these deliveries after more than the test's patience.
func TestAcknowledgementsOnAStreamMakeRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(1))})
		last := h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		const many = 16
		for range many {
			h.send(t, "ann", channel, "bob", "work")
		}
		for range many {
			number := s.next(t).GetNumber()
			eventually(t, func() bool { return h.ledger(t, sub).WaitsForRoom() }, "the stream does not wait for room")
			a.acknowledge(t, number)
		}
		count, err := a.end(t)
		require.NoError(t, err)
		require.Equal(t, int64(many), count)
		require.Equal(t, last+many, h.get(t, sub).GetAcknowledgedThrough())
	})
}

// If the delivery that takes up the room is stored, its acknowledgement is stored at once, because nothing else makes room.
func TestAcknowledgementsOnAStreamOfStoredDeliveriesMakeRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(1))})
		h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		for range 3 {
			h.send(t, "ann", channel, "bob", "work")
		}
		for _, awaited := range []bool{true, false, true} {
			number := s.next(t).GetNumber()
			waits := func() bool { return h.ledger(t, sub).WaitsForRoom() }
			if awaited { // otherwise the stream may begin to wait for room afterwards
				eventually(t, waits, "the stream does not wait for room")
			}
			h.settle(t, sub)
			a.acknowledge(t, number)
		}
		count, err := a.end(t)
		require.NoError(t, err)
		require.Equal(t, int64(3), count)
	})
}

// What no stream of this replica has sent is acknowledged as by single calls.
func TestAcknowledgementsOnAStreamOfWhatWasFetched(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		h.send(t, "ann", channel, "bob", "one")
		h.send(t, "ann", channel, "bob", "two")
		require.Len(t, h.fetch(t, sub), 2)
		a := h.acknowledging(as("bob"), t, sub)
		a.acknowledge(t, 1)
		require.Equal(t, int64(1), h.get(t, sub).GetAcknowledgedThrough())
		a.acknowledge(t, 3)
		_, err := a.end(t)
		faulttest.Require(t, err, fault.Invalid, "NOT_DELIVERED")
		require.Equal(t, int64(1), h.get(t, sub).GetAcknowledgedThrough())
	})
}

// An acknowledgement that is not stored yet keeps its delivery from coming again, and from being given up.
func TestWhatIsAcknowledgedOnAStreamIsNotSentAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, AcknowledgeSeconds: ptr(int32(5)), MaxAttempts: ptr(int32(1))})
		s := h.stream(t, sub, nil)
		h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		h.send(t, "ann", channel, "bob", "work")
		number := s.next(t).GetNumber()
		h.settle(t, sub)
		require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"))
		a.acknowledge(t, number)
		h.clock.Advance(6 * time.Second)
		h.send(t, "ann", channel, "bob", "more")
		require.Equal(t, "more", textOf(s.next(t).GetMessage()))
		count, err := a.end(t)
		require.NoError(t, err)
		require.Equal(t, int64(1), count)
		require.Empty(t, h.deadLetters(t, sub))
	}, restless)
}

// ledger returns what the active stream of a subscription has sent and not stored.
func (r rooms) ledger(t *testing.T, sub *openintentv1.Subscription) *ledger.Ledger {
	found, err := r.subscriptions.find(as(sub.GetSubscriberId()), sub.GetId())
	require.NoError(t, err)
	return r.subscriptions.settler.Of(found.No)
}

// settle makes the active stream of a subscription store everything that it has sent.
func (r rooms) settle(t *testing.T, sub *openintentv1.Subscription) {
	require.NoError(t, r.ledger(t, sub).Settle(context.Background()))
}

// If a delivery became a dead letter before its acknowledgement was stored, the stream is refused, and the client's single call removes the
// dead letter.
func TestAcknowledgementsOnAStreamOfDeadLettersAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, AcknowledgeSeconds: ptr(int32(5)), MaxAttempts: ptr(int32(1))})
		s := h.stream(t, sub, nil)
		h.warmUp(t, s, sub, channel)
		a := h.acknowledging(as("bob"), t, sub)
		sent := h.send(t, "ann", channel, "bob", "work")
		number := s.next(t).GetNumber()
		h.settle(t, sub)
		a.acknowledge(t, number)
		h.clock.Advance(6 * time.Second)
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		_, err = h.subscriptions.supplier.GiveUp(context.Background(), found.No) // as another replica does
		require.NoError(t, err)
		require.Len(t, h.deadLetters(t, sub), 1)
		_, err = a.end(t)
		faulttest.Require(t, err, fault.VersionMismatch, "ACKNOWLEDGEMENTS_LOST")
		require.Len(t, h.deadLetters(t, sub), 1, "nothing was acknowledged")
		h.acknowledge(t, sub, number)
		require.Empty(t, h.deadLetters(t, sub))
		require.NotEqual(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
	})
}

// If another stream has taken over before the acknowledgements were stored, their stream is refused, and the deliveries come again.
func TestAcknowledgementsOnAStreamAreRefusedAfterATakeover(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	first := h.stream(t, sub, nil)
	h.warmUp(t, first, sub, channel)
	a := h.acknowledging(as("bob"), t, sub)
	h.send(t, "ann", channel, "bob", "work")
	a.acknowledge(t, first.next(t).GetNumber())
	h.clock.Advance(time.Minute) // nobody has renewed the lease
	second := other.stream(t, sub, nil)
	again := second.next(t)
	require.Equal(t, "work", textOf(again.GetMessage()))
	_, err := a.end(t)
	faulttest.Require(t, err, fault.VersionMismatch, "ACKNOWLEDGEMENTS_LOST")

	b := h.acknowledging(as("bob"), t, sub) // at the replica that has not sent it
	b.acknowledge(t, again.GetNumber())
	count, err := b.end(t)
	require.NoError(t, err)
	require.Equal(t, int64(1), count)
	require.Zero(t, h.get(t, sub).GetOutstandingCount())
}

// The stream ends with its context, even while it waits for a request: when the server stops, and when the caller's key is over.
func TestAStreamOfAcknowledgementsEndsWithItsContext(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		a := h.acknowledging(as("bob"), t, sub)
		over := errors.New("the key is over")
		a.cancel(over)
		select {
		case err := <-a.ended:
			inRequest := errors.Is(err, context.Canceled) // it was still at the first request
			require.True(t, inRequest || errors.Is(err, over), "%v", err)
		case <-time.After(patience):
			require.Fail(t, "the stream goes on")
		}
		close(a.requests)
	})
}

func TestAStreamOfAcknowledgementsNamesOneSubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		nameless := h.acknowledging(as("bob"), t, &openintentv1.Subscription{})
		_, err := nameless.end(t)
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		two := h.acknowledging(as("bob"), t, sub)
		two.send(t, &openintentv1.StreamAcknowledgementsRequest{SubscriptionId: sub.GetId()})
		two.send(t, &openintentv1.StreamAcknowledgementsRequest{SubscriptionId: "sub_other"})
		_, err = two.end(t)
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

// Nobody acknowledges another agent's deliveries, with the stream of deliveries on this replica or without.
func TestNobodyAcknowledgesForAnotherAgentOnAStream(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, nil)
		last := h.warmUp(t, s, sub, channel)
		h.send(t, "ann", channel, "bob", "work")
		number := s.next(t).GetNumber()
		narrow := caller.Caller{Agent: "bob", KeyID: "key", KeyRoles: []string{caller.AnyRole}, Scope: &caller.Scope{}}
		for _, ctx := range []context.Context{as("eve"), caller.NewContext(context.Background(), narrow)} {
			a := h.acknowledging(ctx, t, sub)
			a.send(t, &openintentv1.StreamAcknowledgementsRequest{Numbers: []int64{number}})
			_, err := a.end(t)
			faulttest.Require(t, err, fault.NotFound, "SUBSCRIPTION_NOT_FOUND")
		}
		h.settle(t, sub)
		require.Equal(t, last, h.get(t, sub).GetAcknowledgedThrough())
		require.Equal(t, int64(1), h.get(t, sub).GetOutstandingCount())
	})
}

// panicking is a stream on which receiving panics.
type panicking struct{ acknowledgementStream }

func (panicking) Context() context.Context { return context.Background() }

func (panicking) Recv() (*openintentv1.StreamAcknowledgementsRequest, error) { panic("broken") }

// Requests are taken on a goroutine of its own, where a panic would end the process.
func TestAPanicOnAStreamOfAcknowledgementsIsAnError(t *testing.T) {
	require.ErrorContains(t, new(Service).StreamAcknowledgements(panicking{}), "broken")
}
