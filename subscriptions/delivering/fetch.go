package delivering

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/subscriptions/record"
)

// Fetch returns due deliveries of a subscription, up to a limit and up to the size of one answer. If there are none, it waits for some, but no
// longer than a given time.
func (s *Supplier) Fetch(
	ctx context.Context, sub *record.Subscription, limit int, patience time.Duration,
) ([]*openintentv1.SubscriptionDelivery, error) {
	r := s.receiverFor(sub, false)
	defer r.Close()
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for until := s.db.Now().Add(patience); ; {
		found, wait, err := r.fetch(ctx, limit)
		switch {
		case err != nil || len(found) > 0:
			return found, err
		case patient.Err() != nil || s.clockEndsWaits && !s.db.Now().Before(until):
			return nil, context.Cause(ctx)
		}
		if r.wait(patient, wait) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// fetch receives due deliveries, up to a limit and up to the size of one answer. It looks until it finds some or has looked at everything.
func (r *receiver) fetch(ctx context.Context, limit int) (found []*openintentv1.SubscriptionDelivery, wait time.Duration, err error) {
	for more := true; more && len(found) == 0; {
		seen, ended, err := r.gatherInTurn(ctx)
		if err != nil {
			return nil, 0, err
		}
		if found, wait, err = r.fetchFrom(ctx, seen, ended, limit); err != nil {
			return nil, 0, err
		}
		more = seen.More && !r.gatherer.Full
	}
	return found, wait, nil
}

// gatherInTurn looks and gathers, while no other fetch of the subscription does.
func (r *receiver) gatherInTurn(ctx context.Context) (seen *Progress, ended bool, err error) {
	done, err := r.supplier.turns.take(ctx, r.sub.No)
	if err != nil {
		return nil, false, err
	}
	defer done()
	if seen, err = r.Refresh(ctx); err != nil {
		return nil, false, err
	}
	if seen.Sub.LeasedByOther("", seen.Now) {
		return nil, false, record.ErrInUse
	}
	ended, err = r.gatherer.Gather(ctx, seen)
	return seen, ended, err
}

// fetchFrom is fetch after one look.
func (r *receiver) fetchFrom(
	ctx context.Context, seen *Progress, ended bool, limit int,
) (found []*openintentv1.SubscriptionDelivery, wait time.Duration, err error) {
	for size := 0; len(found) < limit && size < PageBytes; {
		parcels, pause, err := r.receive(ctx, seen, ended, "", limit-len(found), record.MaxUnfinished, size)
		switch {
		case err != nil && len(found) == 0:
			return nil, 0, err
		case err != nil || len(parcels) == 0:
			return found, pause, nil // the deliveries received so far are returned, also if the next one does not fit
		}
		for _, p := range parcels {
			found, size = append(found, p.Wire), size+proto.Size(p.Wire)
			r.supplier.traceDelivery(ctx, r.sub, p)(nil)
		}
		r.supplier.recordOffered(r.sub, parcels...)
	}
	return found, 0, nil
}
