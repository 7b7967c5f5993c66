package subscriptions

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
)

// acknowledgementStream is a stream of StreamAcknowledgements.
type acknowledgementStream = grpc.ClientStreamingServer[
	openintentv1.StreamAcknowledgementsRequest, openintentv1.StreamAcknowledgementsResponse]

// StreamAcknowledgements acknowledges deliveries of one subscription, and answers once, when all of that is stored. If it fails, what came
// before may be stored or not.
func (s *Service) StreamAcknowledgements(stream acknowledgementStream) error {
	a, ctx := acknowledging{service: s}, stream.Context()
	for requests := receive(stream); ; {
		select {
		case <-ctx.Done(): // the server stops, or the caller's key is over
			return context.Cause(ctx)
		case r := <-requests:
			switch {
			case errors.Is(r.err, io.EOF):
				if err := a.settle(ctx); err != nil {
					return err
				}
				return stream.SendAndClose(&openintentv1.StreamAcknowledgementsResponse{Acknowledged: a.count})
			case r.err != nil:
				return r.err
			}
			if err := a.take(ctx, r.request); err != nil {
				return err
			}
		}
	}
}

// receivedRequest is a request of a stream, or why no more can come.
type receivedRequest struct {
	request *openintentv1.StreamAcknowledgementsRequest
	err     error
}

// receive hands over the requests of a stream one by one, up to the first error. It ends with the stream's context, soon after the call has
// returned. Waiting for a request does not end with that context, so another goroutine waits.
func receive(stream acknowledgementStream) <-chan receivedRequest {
	ctx, requests := stream.Context(), make(chan receivedRequest)
	go func() {
		for {
			var r receivedRequest
			r.request, r.err = stream.Recv()
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
			if r.err != nil {
				return
			}
		}
	}()
	return requests
}

// acknowledging is one running StreamAcknowledgements call.
type acknowledging struct {
	service      *Service
	subscription string
	count        int64
	// noted is the ledger in which the last acknowledgements were noted, or nil. deaths is how often that ledger had
	// found dead letters among what was acknowledged before that.
	noted  *ledger
	deaths int
}

// take acknowledges what one request names. If this replica has sent the deliveries, it only notes that; otherwise it waits until the
// acknowledgement is stored.
func (a *acknowledging) take(ctx context.Context, req *openintentv1.StreamAcknowledgementsRequest) error {
	if err := a.name(req.GetSubscriptionId()); err != nil {
		return err
	}
	if len(req.GetNumbers()) == 0 {
		_, err := a.service.find(ctx, a.subscription)
		return err
	}
	l := a.service.ledgerOf(ctx, a.subscription)
	if l != a.noted {
		if err := a.settle(ctx); err != nil {
			return err
		}
	}
	if l != nil && a.noted == nil {
		a.deaths = l.deathsFound()
	}
	if l != nil && l.note(req.GetNumbers()) {
		a.noted = l
	} else if _, err := a.service.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
		SubscriptionId: a.subscription, Numbers: req.GetNumbers(),
	}); err != nil {
		return err
	}
	a.count += int64(len(req.GetNumbers()))
	return nil
}

// name takes the subscription from the first request, and refuses another one.
func (a *acknowledging) name(subscription string) error {
	switch {
	case subscription == "" && a.subscription == "":
		return fault.BadField("subscription_id", "the first request of a stream names the subscription.")
	case a.subscription == "":
		a.subscription = subscription
	case subscription != "" && subscription != a.subscription:
		return fault.BadField("subscription_id",
			"a stream acknowledges deliveries of one subscription; open another stream for another subscription.")
	}
	return nil
}

// settle waits until what was noted is stored.
func (a *acknowledging) settle(ctx context.Context) error {
	if a.noted == nil {
		return nil
	}
	stored, err := a.noted.settleNoted(ctx, a.deaths)
	if err == nil && !stored {
		err = errAcknowledgementsLost
	}
	a.noted = nil
	return err
}
