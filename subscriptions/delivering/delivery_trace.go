package delivering

import (
	"context"

	"openintent/subscriptions/record"
)

// traceDelivery tells that a parcel begins to be handed to the subscription's consumer.
func (s *Supplier) traceDelivery(ctx context.Context, sub *record.Subscription, p parcel) (handed func(error)) {
	switch {
	case s.deliveryTrace == nil:
		return func(error) {}
	case p.parts == nil:
		return s.deliveryTrace.Begin(ctx, sub.Receiving(), p.entry)
	}
	return s.deliveryTrace.BeginAll(ctx, sub.Receiving(), p.appendTraced(nil))
}
