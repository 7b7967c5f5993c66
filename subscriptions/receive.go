package subscriptions

import (
	"context"
	"errors"
	"time"

	"openintent/database"
	"openintent/messaging"
)

// fullWindowLook is how soon a receiver whose client owes acknowledgements looks whether they came; the next time it waits
// twice as long. It is woken when they do, but a wake-up lost on its way from another replica would stop the whole stream.
const fullWindowLook = 250 * time.Millisecond

// receiver is one party that receives a subscription's deliveries, by stream or by fetching: it gathers what is new, finds
// what is due, and waits.
type receiver struct {
	service  *Service
	sub      *subscription
	gatherer *gatherer
	watch    *messaging.Watch
	// fullLook is when it looks without a wake-up while its client owes acknowledgements.
	fullLook time.Duration
}

func (s *Service) newReceiver(sub *subscription) *receiver {
	watch := s.messaging.WatchIntents(sub.subscriber)
	watch.Subscription(sub.no)
	return &receiver{service: s, sub: sub, gatherer: s.newGatherer(sub.no), watch: watch}
}

func (r *receiver) close() { r.watch.Close() }

// look looks at the subscription and lets the watch follow what it found to be of interest. What was stored before the watch
// began to listen did not wake it, so then it looks once more.
func (r *receiver) look(ctx context.Context) (*sight, error) {
	for {
		seen, err := r.gatherer.look(ctx, r.sub.subscriber)
		if err != nil {
			return nil, err
		}
		r.sub = seen.sub
		if !follow(r.watch, seen) {
			return seen, nil
		}
	}
}

// follow sets what a watch listens to by what a look found, and tells whether that was anything new.
func follow(watch *messaging.Watch, seen *sight) (changed bool) {
	changed = watch.Intents(seen.intents...)
	return watch.Role(heldRole(seen.presence)) || changed
}

// receive takes up to limit deliveries that are due, for a consumer or, with an empty one, for a fetch. wait is how long
// nothing further is to be expected without a wake-up. With the last delivery of a closed channel done with, it is refused.
func (r *receiver) receive(
	ctx context.Context, seen *sight, consumer string, limit, maxOutstanding int,
) (parcels []parcel, wait time.Duration, err error) {
	ended, err := r.gatherer.gather(ctx, seen)
	if err != nil {
		return nil, 0, err
	}
	for {
		o, err := r.service.offering(ctx, r.sub.no, min(limit, offerPage))
		if err != nil {
			return nil, 0, err
		}
		if o.overdue {
			if _, err := r.service.giveUp(ctx, r.sub.no); err != nil {
				return nil, 0, err
			}
			continue
		}
		if ended && o.live == 0 {
			return nil, 0, errChannelClosed
		}
		room := maxOutstanding - int(o.outstanding)
		due := o.due[:max(0, min(len(o.due), room))]
		if len(due) == 0 {
			return nil, r.pause(o, room <= 0), nil
		}
		parcels, err = r.service.offer(ctx, r.sub, consumer, due)
		if err != nil || len(parcels) > 0 {
			return parcels, 0, err
		}
	}
}

// pause is how long to wait without a wake-up.
func (r *receiver) pause(o offering, full bool) time.Duration {
	wait := r.service.lookAgain
	if full {
		r.fullLook = min(max(2*r.fullLook, fullWindowLook), wait)
		wait = r.fullLook
	} else {
		r.fullLook = 0
	}
	if !o.next.IsZero() {
		wait = min(wait, max(o.next.Sub(r.service.db.Now()), time.Millisecond))
	}
	return wait
}

// wait waits for a wake-up, or until a time is over.
func (r *receiver) wait(ctx context.Context, wait time.Duration) (woken bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.watch.C():
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// sendError is a stream's failure to take something: the stream is over.
type sendError struct{ error }

func (e sendError) Unwrap() error { return e.error }

// sending marks an error that came from a stream.
func sending(err error) error {
	if err == nil {
		return nil
	}
	return sendError{err}
}

// passes tells whether a stream goes on after an error, because the database was away.
func passes(err error) bool {
	var broken sendError
	return err != nil && !errors.As(err, &broken) && database.IsUnavailable(err)
}
