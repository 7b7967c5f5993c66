package subscriptions

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/subscriptions/ledger"
)

// acknowledgementStream is a stream of StreamAcknowledgements.
type acknowledgementStream = grpc.ClientStreamingServer[
	openintentv1.StreamAcknowledgementsRequest, openintentv1.StreamAcknowledgementsResponse]

// StreamAcknowledgements acknowledges deliveries of one subscription, and answers once, when all of that is stored. If it fails, what came
// before may be stored or not.
func (s *Service) StreamAcknowledgements(stream acknowledgementStream) error {
	a, ctx, ended := acknowledging{service: s}, stream.Context(), make(chan error, 1)
	go func() { ended <- a.run(ctx, stream) }()
	select {
	case <-ctx.Done(): // the server stops, or the caller's key is over
		return context.Cause(ctx)
	case err := <-ended:
		if err != nil {
			return err
		}
	}
	return stream.SendAndClose(&openintentv1.StreamAcknowledgementsResponse{Acknowledged: a.count})
}

// run takes requests until the client ends its side, and then waits until everything is stored. Receiving does not end with the context,
// so run has a goroutine of its own, which ends soon after the call has returned. run also does what the requests ask, because handing each
// request to another goroutine would cost more.
func (a *acknowledging) run(ctx context.Context, stream acknowledgementStream) (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	for {
		request, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return a.settle(ctx)
		case err != nil:
			return err
		}
		if err := a.take(ctx, request); err != nil {
			return err
		}
	}
}

// acknowledging is one running StreamAcknowledgements call.
type acknowledging struct {
	service      *Service
	subscription string
	count        int64
	// noted is the ledger in which the last acknowledgements were noted, or nil. deaths is how often that ledger had
	// found dead letters among what was acknowledged before that.
	noted  *ledger.Ledger
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
	if a.noted != nil && a.noted.Note(req.GetNumbers()) { // where the last ones were noted
		a.count += int64(len(req.GetNumbers()))
		return nil
	}
	l := a.service.ledgerOf(ctx, a.subscription)
	if l != a.noted {
		if err := a.settle(ctx); err != nil {
			return err
		}
	}
	if l != nil && a.noted == nil {
		a.deaths = l.DeathsFound()
	}
	if l != nil && l.Note(req.GetNumbers()) {
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
	stored, err := a.noted.SettleNoted(ctx, a.deaths)
	if err == nil && !stored {
		err = errAcknowledgementsLost
	}
	a.noted = nil
	return err
}
