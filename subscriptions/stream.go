package subscriptions

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging"
)

// StreamDeliveries streams a subscription's deliveries to one consumer at a time.
func (s *Service) StreamDeliveries(
	req *openintentv1.StreamDeliveriesRequest, stream grpc.ServerStreamingServer[openintentv1.SubscriptionDelivery],
) error {
	ctx := stream.Context()
	sub, err := s.receivable(ctx, req.GetSubscriptionId())
	if err != nil {
		return err
	}
	through := req.GetAcknowledgedThrough()
	if err := s.acknowledgeThrough(ctx, sub, through); err != nil {
		return err
	}
	r := s.receiverFor(sub, true)
	defer r.close()
	if _, err := r.refresh(ctx); err != nil {
		return err
	}
	if through, err = s.acknowledgedThrough(ctx, sub); err != nil {
		return err
	}
	if err := stream.SendHeader(metadata.Pairs(messaging.PositionHeader, strconv.FormatInt(through, 10))); err != nil {
		return err
	}
	st := &deliveryStream{
		receiver: r, consumer: s.newConsumer(sub.no), send: stream.Send,
		maxOutstanding: int(cmp.Or(req.GetMaxOutstanding(), defaultPage)), announces: req.GetAnnounceActive(),
		encodes: new(grpc.PreparedMsg).Encode(stream, new(openintentv1.SubscriptionDelivery)) == nil,
	}
	st.consumer.afresh, st.consumer.takesOver = true, req.GetTakeOver()
	r.gatherer.consumer, st.careful = st.consumer.name, true
	return st.run(ctx)
}

// receivable returns a subscription of the caller if the caller may receive its deliveries.
func (s *Service) receivable(ctx context.Context, id string) (*subscription, error) {
	sub, err := s.find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case sub.posted():
		return nil, errPosted
	}
	return sub, nil
}

// acknowledgedThrough returns the number up to which every delivery is finished.
func (s *Service) acknowledgedThrough(ctx context.Context, sub *subscription) (through int64, err error) {
	wire, err := s.describe(ctx, sub.no)
	return wire.GetAcknowledgedThrough(), err
}

// deliveryStream is one running StreamDeliveries call.
type deliveryStream struct {
	*receiver
	consumer *consumer
	send     func(*openintentv1.SubscriptionDelivery) error
	// encodes is true when the stream goes over the network.
	encodes        bool
	maxOutstanding int
	// announces is true when the client asked to be told each time the stream becomes active or begins to stand by.
	announces, active bool
	// standsBy is the state that was last announced to the client.
	standsBy bool
	// ends says how the stream goes on by what is handed over, until it looks again (handover.go).
	ends logEnds
	// ledger is set while the stream sends deliveries before they are stored (ahead.go). careful is true until the stream may
	// begin with that.
	ledger  *ledger
	careful bool
}

// run streams until the subscription or the context ends. Whenever the active stream ends or falls silent, another one becomes
// active.
func (st *deliveryStream) run(ctx context.Context) error {
	defer func() {
		if err := st.consumer.release(ctx, st.stopAhead(ctx) && !st.careful); err != nil {
			st.service.logger.Warn("a stream could not release its lease; another one takes over when the lease runs out", "error", err)
		}
	}()
	for {
		wait, err := st.deliverDue(ctx)
		if err == nil && wait > 0 {
			wait, err = 0, st.rest(ctx, wait)
		}
		switch {
		case errors.Is(err, errConsumerLost):
			st.careful = !st.stopAhead(ctx) || st.careful
			st.active, wait = false, 0
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isTransient(err):
			st.service.logger.Debug("could not read a stream's subscription; will try again", "error", err)
			wait = st.service.lookAgain
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
func (st *deliveryStream) deliverDue(ctx context.Context) (wait time.Duration, err error) {
	seen, err := st.refresh(ctx)
	if err != nil {
		return 0, err
	}
	if st.active && !st.consumer.has(seen.sub) {
		return 0, errConsumerLost
	}
	if !st.active {
		taken, until, err := st.consumer.acquire(ctx, seen.sub, seen.now, wanted{})
		if err != nil {
			return 0, err
		}
		if taken == nil {
			return st.standBy(seen, until), st.announce(true)
		}
		st.active, st.careful = true, st.consumer.replaced
		if err := st.announce(false); err != nil {
			return 0, err
		}
	}
	if st.ledger == nil && !st.careful && !seen.sub.windowed() && seen.hasNews() {
		return 0, st.goAhead(ctx)
	}
	if st.ledger != nil {
		return st.deliverAhead(ctx, seen)
	}
	ended, err := st.gatherer.gather(ctx, seen)
	if err != nil {
		return 0, err
	}
	parcels, wait, err := st.receive(ctx, seen, ended, st.consumer.name, offerPage, st.maxOutstanding, 0)
	if err != nil {
		return 0, err
	}
	st.careful = st.careful && st.gatherer.full
	return wait, st.handAll(ctx, parcels)
}

// handAll sends all parcels that still show something.
func (st *deliveryStream) handAll(ctx context.Context, parcels []parcel) (err error) {
	for _, p := range parcels {
		st.consumer.mayHaveGiven(p.number)
	}
	for len(parcels) > 0 && err == nil {
		parcels, err = st.hand(ctx, parcels)
	}
	return err
}

// announce tells a client that asked for it that the stream stands by, or that it is active from now on. It does not repeat
// that the stream stands by.
func (st *deliveryStream) announce(standsBy bool) error {
	if !st.announces || standsBy && st.standsBy {
		return nil
	}
	st.standsBy = standsBy
	return st.consumer.whileBusy(func() error {
		return asSendError(st.send(&openintentv1.SubscriptionDelivery{SubscriptionId: st.sub.id, StandingBy: standsBy}))
	})
}

// hand sends parcels as long as their contents are fresh. It reads the contents of the remaining parcels again and returns
// those parcels. It skips contents that have expired or are no longer visible to the subscriber.
func (st *deliveryStream) hand(ctx context.Context, parcels []parcel) (left []parcel, err error) {
	readAt := parcels[0].entry.ReadAt
	var gone []delivery
	for i, p := range parcels {
		now := st.service.db.Now()
		if i > 0 && now.Sub(readAt) > freshFor {
			var unseen []delivery
			if left, unseen, err = st.service.packAgain(ctx, st.sub, parcels[i:]); err != nil {
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
			gone = append(gone, p.delivery)
			continue
		}
		handed := st.service.traceDelivery(ctx, st.sub, p)
		err = st.consumer.whileBusy(func() error { return asSendError(st.send(p.wire)) })
		handed(err)
		if err != nil {
			return nil, err
		}
		st.service.recordOffered(st.sub, p)
	}
	return left, st.service.passOver(ctx, st.sub.no, st.consumer.name, gone)
}

// standBy returns how long to wait before checking again whether the active stream has ended, because its process may die
// without releasing the lease.
func (st *deliveryStream) standBy(seen *progress, until time.Time) time.Duration {
	return min(st.service.lookAgain, max(until.Sub(seen.now), time.Millisecond))
}
