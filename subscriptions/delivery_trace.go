package subscriptions

import (
	"context"

	"openintent/messaging/reading"
)

// Posting is called before messages are posted to an address. It returns the traceparent that the post carries, or "", and a function,
// which is called with the outcome. A nil Posting does nothing.
type Posting func(
	ctx context.Context, to reading.Consumer, address string, messages ...reading.Traced,
) (traceparent string, posted func(Posted))

// Posted is how a post went.
type Posted struct {
	// Status is the answer's HTTP status; 0 without an answer.
	Status int
	// Problem is a public sentence; empty if the post was delivered.
	Problem string
}

// receiving returns who gets a subscription's deliveries.
func (s *subscription) receiving() reading.Consumer {
	return reading.Consumer{Agent: s.subscriber, Subscription: s.id}
}

// traceDelivery tells that a parcel begins to be handed to the subscription's consumer.
func (s *Service) traceDelivery(ctx context.Context, sub *subscription, p parcel) (handed func(error)) {
	switch {
	case s.deliveryTrace == nil:
		return func(error) {}
	case p.parts == nil:
		return s.deliveryTrace.Begin(ctx, sub.receiving(), p.entry)
	}
	return s.deliveryTrace.BeginAll(ctx, sub.receiving(), p.appendTraced(nil))
}

// beginPosting tells that an entry is about to be posted.
func (run *dispatch) beginPosting(ctx context.Context, entry reading.Entry) (traceparent string, posted func(Posted)) {
	posting := run.poster.service.posting
	if posting == nil || entry.Message == nil {
		return "", func(Posted) {}
	}
	return posting(ctx, run.sub.receiving(), run.url, reading.Traced{Message: entry.Message, IntentID: entry.IntentID})
}
