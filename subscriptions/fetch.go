package subscriptions

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// FetchDeliveries returns due deliveries. Concurrent fetches share them.
func (s *Service) FetchDeliveries(
	ctx context.Context, req *openintentv1.FetchDeliveriesRequest,
) (*openintentv1.FetchDeliveriesResponse, error) {
	sub, err := s.receivable(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	r := s.receiverFor(sub, false)
	defer r.close()
	patience, cancel := context.WithTimeout(ctx, time.Duration(req.GetWaitSeconds()*float64(time.Second)))
	defer cancel()
	for {
		found, wait, err := r.fetch(ctx, int(cmp.Or(req.GetLimit(), defaultPage)))
		if err != nil {
			return nil, err
		}
		if len(found) > 0 || req.GetWaitSeconds() == 0 {
			return &openintentv1.FetchDeliveriesResponse{Deliveries: found}, nil
		}
		if err := r.wait(patience, wait); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return &openintentv1.FetchDeliveriesResponse{}, nil
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
		more = seen.more && !r.gatherer.full
	}
	return found, wait, nil
}

// gatherInTurn looks and gathers, while no other fetch of the subscription does.
func (r *receiver) gatherInTurn(ctx context.Context) (seen *progress, ended bool, err error) {
	done, err := r.service.turns.take(ctx, r.sub.no)
	if err != nil {
		return nil, false, err
	}
	defer done()
	if seen, err = r.refresh(ctx); err != nil {
		return nil, false, err
	}
	if seen.sub.leasedByOther("", seen.now) {
		return nil, false, errInUse
	}
	ended, err = r.gatherer.gather(ctx, seen)
	return seen, ended, err
}

// fetchFrom is fetch after one look.
func (r *receiver) fetchFrom(
	ctx context.Context, seen *progress, ended bool, limit int,
) (found []*openintentv1.SubscriptionDelivery, wait time.Duration, err error) {
	for size := 0; len(found) < limit && size < pageBytes; {
		parcels, pause, err := r.receive(ctx, seen, ended, "", limit-len(found), maxUnfinished, size)
		switch {
		case err != nil && len(found) == 0:
			return nil, 0, err
		case err != nil || len(parcels) == 0:
			return found, pause, nil // the deliveries received so far are returned, also if the next one does not fit
		}
		for _, p := range parcels {
			found, size = append(found, p.wire), size+proto.Size(p.wire)
			r.service.traceDelivery(ctx, r.sub, p)(nil)
		}
		r.service.recordOffered(r.sub, parcels...)
	}
	return found, 0, nil
}
