package delivering

import (
	"context"
	"errors"
	"time"

	"openintent/internal/database"
	"openintent/messaging"
	"openintent/subscriptions/record"
)

// fullRecheck is how soon a receiver whose client owes acknowledgements checks whether they have come; each further pause
// is twice as long. Acknowledgements wake the receiver, but a wake-up from another replica may be lost, and that would stop the
// stream.
const fullRecheck = 250 * time.Millisecond

// receiver receives a subscription's deliveries for a stream or a fetch. It gathers what is new, finds what is due, and waits.
type receiver struct {
	supplier *Supplier
	sub      *record.Subscription
	gatherer *Gatherer
	watch    *messaging.Watch
	// fullWait is how long the receiver waits without a wake-up while its client owes acknowledgements.
	fullWait time.Duration
}

// receiverFor makes a receiver. takes is true if it takes what is handed over.
func (s *Supplier) receiverFor(sub *record.Subscription, takes bool) *receiver {
	watch := s.messaging.Watch(messaging.Watched{Agent: sub.Subscriber, IntentNo: sub.IntentNo, Takes: takes})
	watch.Subscription(sub.No)
	return &receiver{supplier: s, sub: sub, gatherer: s.NewGatherer(sub.No, sub.Subscriber, sub.IntentNo), watch: watch}
}

// Close ends what wakes the receiver.
func (r *receiver) Close() { r.watch.Close() }

// Refresh looks how far the subscription has come and where there is something to gather.
func (r *receiver) Refresh(ctx context.Context) (*Progress, error) {
	seen, err := r.gatherer.Look(ctx, r.watch)
	if err == nil {
		r.sub = seen.Sub
	}
	return seen, err
}

// receive offers up to limit due deliveries to a consumer, or to a fetch if consumer is empty. Its caller has looked and gathered, and ended
// says whether that found the channel's end. held is how many bytes the answer has already. If no further delivery fits beside them, receive
// returns errAnswerFull. wait is how long to wait for the next delivery without a wake-up; it is 0 if the next look may find one. When the last
// delivery of a closed channel is finished, receive returns ErrChannelClosed.
func (r *receiver) receive(
	ctx context.Context, seen *Progress, ended bool, consumer string, limit, maxOutstanding, held int,
) (parcels []parcel, wait time.Duration, err error) {
	var windowEnds time.Time
	if r.sub.Windowed() {
		if windowEnds, err = r.supplier.release(ctx, r.sub, consumer, ended); err != nil {
			return nil, 0, err
		}
	}
	for {
		o, err := r.supplier.offering(ctx, r.sub, min(limit, OfferPage))
		if err != nil {
			return nil, 0, err
		}
		if o.overdue {
			if _, err := r.supplier.GiveUp(ctx, r.sub.No); err != nil {
				return nil, 0, err
			}
			continue
		}
		if ended && o.unfinished == 0 {
			return nil, 0, ErrChannelClosed
		}
		room := maxOutstanding - int(o.outstanding)
		due := o.due[:max(0, min(len(o.due), room))]
		if len(due) == 0 && seen.More && !r.gatherer.Full {
			return nil, 0, nil
		}
		if len(due) == 0 {
			o.next = record.Earliest(o.next, windowEnds)
			return nil, r.pause(o, room <= 0), nil
		}
		parcels, err = r.supplier.offer(ctx, r.sub, consumer, due, held)
		if err != nil || len(parcels) > 0 {
			return parcels, 0, err
		}
	}
}

// pause returns how long to wait without a wake-up.
func (r *receiver) pause(o offering, full bool) time.Duration {
	wait := r.supplier.lookAgain
	if full {
		r.fullWait = min(max(2*r.fullWait, fullRecheck), wait)
		wait = r.fullWait
	} else {
		r.fullWait = 0
	}
	if !o.next.IsZero() {
		wait = min(wait, max(o.next.Sub(r.supplier.db.Now()), time.Millisecond))
	}
	return wait
}

// wait waits for a wake-up that is worth a look, but no longer than a given time.
func (r *receiver) wait(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-r.watch.C():
			if worth, err := r.watch.Worth(ctx); worth || err != nil {
				return nil // after an error the look fails, too
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sendError means that sending on a stream failed, so the stream is over.
type sendError struct{ error }

func (e sendError) Unwrap() error { return e.error }

// AsSendError marks an error that came from sending on a stream.
func AsSendError(err error) error {
	if err == nil {
		return nil
	}
	return sendError{err}
}

// IsTransient reports whether a stream survives an error, because it only means that the database was unavailable.
func IsTransient(err error) bool {
	var broken sendError
	return err != nil && !errors.As(err, &broken) && database.IsUnavailable(err)
}
