package delivering

import (
	"context"
	"errors"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/reach"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/record"
)

// Streaming says how a client wants its deliveries streamed.
type Streaming struct {
	Send func(*openintentv1.SubscriptionDelivery) error
	// Encodes is true when the stream goes over the network.
	Encodes        bool
	MaxOutstanding int
	// Announces is true when the client asked to be told each time the stream becomes active or begins to stand by. TakesOver makes it take
	// the deliveries once from whoever has them.
	Announces, TakesOver bool
	// CatchesUp is true when the client asked to be told when it has everything that was due.
	CatchesUp bool
}

// Stream is one running StreamDeliveries call.
type Stream struct {
	*receiver
	Streaming
	consumer *Consumer
	active   bool
	// unheard closes the path to the subscriber that the stream is while it is active.
	unheard func()
	// standsBy is the state that was last announced to the client.
	standsBy bool
	// caughtUp is true once the client was told that it has everything that was due when the stream became active.
	caughtUp bool
	// ends says how the stream goes on by what is handed over, until it looks again (stream_from_handover.go).
	ends logEnds
	// ledger is set while the stream sends deliveries before they are stored (send_before_storing.go). careful is true until the stream may
	// begin with that.
	ledger  *ledger.Ledger
	careful bool
}

// NewStream makes a stream of a subscription's deliveries. The caller must call Close.
func (s *Supplier) NewStream(sub *record.Subscription, how Streaming) *Stream {
	st := &Stream{
		receiver: s.receiverFor(sub, true), Streaming: how, consumer: s.NewConsumer(sub.No), careful: true, unheard: func() {},
	}
	st.consumer.afresh, st.consumer.takesOver = true, how.TakesOver
	st.gatherer.consumer = st.consumer.Name
	return st
}

// Run streams until the subscription or the context ends. Whenever the active stream ends or falls silent, another one becomes
// active.
func (st *Stream) Run(ctx context.Context) error {
	defer func() {
		st.unheard()
		if err := st.consumer.Release(ctx, st.stopAhead(ctx) && !st.careful); err != nil {
			st.supplier.logger.Warn("a stream could not release its lease; another one takes over when the lease runs out", "error", err)
		}
	}()
	for {
		wait, err := st.deliverDue(ctx)
		if err == nil && wait > 0 {
			err = st.announceCaughtUp()
		}
		if err == nil && wait > 0 {
			wait, err = 0, st.rest(ctx, wait)
		}
		switch {
		case errors.Is(err, record.ErrConsumerLost):
			st.unheard()
			st.careful = !st.stopAhead(ctx) || st.careful
			st.active, wait = false, 0
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case IsTransient(err):
			st.supplier.logger.Debug("could not read a stream's subscription; will try again", "error", err)
			wait = st.supplier.lookAgain
		case err != nil:
			return err
		}
		if wait == 0 {
			continue
		}
		if err := st.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// deliverDue makes the stream active if possible, and sends what is due. wait is how long to wait for a wake-up before the next
// call.
func (st *Stream) deliverDue(ctx context.Context) (wait time.Duration, err error) {
	seen, err := st.Refresh(ctx)
	if err != nil {
		return 0, err
	}
	if st.active && !st.consumer.has(seen.Sub) {
		return 0, record.ErrConsumerLost
	}
	if !st.active {
		taken, until, err := st.consumer.Acquire(ctx, seen.Sub, seen.Now, record.Wanted{})
		if err != nil {
			return 0, err
		}
		if taken == nil {
			return st.standBy(seen, until), st.announce(true)
		}
		st.active, st.caughtUp, st.careful = true, false, st.consumer.replaced
		st.unheard = reach.Hear(ctx, reach.Stream)
		if err := st.announce(false); err != nil {
			return 0, err
		}
	}
	if st.ledger == nil && !st.careful && !seen.Sub.Windowed() && seen.hasNews() {
		return 0, st.goAhead(ctx)
	}
	if st.ledger != nil {
		return st.deliverAhead(ctx, seen)
	}
	ended, err := st.gatherer.Gather(ctx, seen)
	if err != nil {
		return 0, err
	}
	parcels, wait, err := st.receive(ctx, seen, ended, st.consumer.Name, OfferPage, st.MaxOutstanding, 0)
	if err != nil {
		return 0, err
	}
	st.careful = st.careful && st.gatherer.Full
	return wait, st.handAll(ctx, parcels)
}

// handAll sends all parcels that still show something.
func (st *Stream) handAll(ctx context.Context, parcels []parcel) (err error) {
	for _, p := range parcels {
		st.consumer.mayHaveGiven(p.Number)
	}
	for len(parcels) > 0 && err == nil {
		parcels, err = st.hand(ctx, parcels)
	}
	return err
}

// announce tells a client that asked for it that the stream stands by, or that it is active from now on. It does not repeat
// that the stream stands by.
func (st *Stream) announce(standsBy bool) error {
	if !st.Announces || standsBy && st.standsBy {
		return nil
	}
	st.standsBy = standsBy
	return st.consumer.whileBusy(func() error {
		return AsSendError(st.Send(&openintentv1.SubscriptionDelivery{SubscriptionId: st.sub.ID, StandingBy: standsBy}))
	})
}

// announceCaughtUp tells a client that asked for it that an active stream has sent what was due. Its caller has found nothing more to send.
func (st *Stream) announceCaughtUp() error {
	if !st.CatchesUp || !st.active || st.caughtUp {
		return nil
	}
	st.caughtUp = true
	return st.consumer.whileBusy(func() error {
		return AsSendError(st.Send(&openintentv1.SubscriptionDelivery{SubscriptionId: st.sub.ID, CaughtUp: true}))
	})
}

// hand sends parcels as long as their contents are fresh. It reads the contents of the remaining parcels again and returns
// those parcels. It skips contents that have expired or are no longer visible to the subscriber.
func (st *Stream) hand(ctx context.Context, parcels []parcel) (left []parcel, err error) {
	readAt := parcels[0].entry.ReadAt
	var gone []record.Delivery
	for i, p := range parcels {
		now := st.supplier.db.Now()
		if i > 0 && now.Sub(readAt) > FreshFor {
			var unseen []record.Delivery
			if left, unseen, err = st.supplier.packAgain(ctx, st.sub, parcels[i:]); err != nil {
				return nil, err
			}
			gone = append(gone, unseen...)
			break
		}
		p, shown, err := p.at(now, st.sub)
		if err != nil {
			return nil, err
		}
		if !shown {
			gone = append(gone, p.Delivery)
			continue
		}
		handed := st.supplier.traceDelivery(ctx, st.sub, p)
		err = st.consumer.whileBusy(func() error { return AsSendError(st.Send(p.Wire)) })
		handed(err)
		if err != nil {
			return nil, err
		}
		st.supplier.recordOffered(st.sub, p)
	}
	return left, st.supplier.PassOver(ctx, st.sub.No, st.consumer.Name, gone)
}

// standBy returns how long to wait before checking again whether the active stream has ended, because its process may die
// without releasing the lease.
func (st *Stream) standBy(seen *Progress, until time.Time) time.Duration {
	return min(st.supplier.lookAgain, max(until.Sub(seen.Now), time.Millisecond))
}
