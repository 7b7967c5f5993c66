package subscriptions

import (
	"cmp"
	"context"
	"strconv"
	"time"

	openintentv1 "openintent/gen/openintent/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"openintent/messaging"
	"openintent/reach"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
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
	st := s.supplier.NewStream(sub, delivering.Streaming{
		Send: stream.Send, Encodes: new(grpc.PreparedMsg).Encode(stream, new(openintentv1.SubscriptionDelivery)) == nil,
		MaxOutstanding: int(cmp.Or(req.GetMaxOutstanding(), defaultPage)), Announces: req.GetAnnounceActive(), TakesOver: req.GetTakeOver(),
		CatchesUp: req.GetAnnounceCaughtUp(),
	})
	defer st.Close()
	if _, err := st.Refresh(ctx); err != nil {
		return err
	}
	if through, err = s.acknowledgedThrough(ctx, sub); err != nil {
		return err
	}
	if err := stream.SendHeader(metadata.Pairs(messaging.PositionHeader, strconv.FormatInt(through, 10))); err != nil {
		return err
	}
	return st.Run(ctx)
}

// receivable returns a subscription of the caller if the caller may receive its deliveries.
func (s *Service) receivable(ctx context.Context, id string) (*record.Subscription, error) {
	sub, err := s.find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case sub.Posted():
		return nil, errPosted
	}
	return sub, nil
}

// acknowledgedThrough returns the number up to which every delivery is finished.
func (s *Service) acknowledgedThrough(ctx context.Context, sub *record.Subscription) (through int64, err error) {
	wire, err := s.describe(ctx, sub.No)
	return wire.GetAcknowledgedThrough(), err
}

// FetchDeliveries returns due deliveries. Concurrent fetches share them.
func (s *Service) FetchDeliveries(
	ctx context.Context, req *openintentv1.FetchDeliveriesRequest,
) (*openintentv1.FetchDeliveriesResponse, error) {
	sub, err := s.receivable(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	patience := time.Duration(req.GetWaitSeconds() * float64(time.Second))
	if patience > 0 {
		defer reach.Hear(ctx, reach.Wait)()
	}
	found, err := s.supplier.Fetch(ctx, sub, int(cmp.Or(req.GetLimit(), defaultPage)), patience)
	if err != nil {
		return nil, err
	}
	return &openintentv1.FetchDeliveriesResponse{Deliveries: found}, nil
}
