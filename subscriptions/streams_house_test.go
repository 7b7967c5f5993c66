package subscriptions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// stream is a running stream with both its sides: the service sends to it, and the test receives from it.
type stream[T any] struct {
	grpc.ServerStream
	ctx        context.Context
	cancel     context.CancelFunc
	admitted   chan struct{}
	accepted   metadata.MD // set before admitted is closed
	deliveries chan *T
	ended      chan error
}

func (s *stream[T]) Context() context.Context { return s.ctx }

func (s *stream[T]) SendHeader(header metadata.MD) error {
	s.accepted = header
	close(s.admitted)
	return nil
}

// Send waits until the test receives, so it blocks like a stream with a slow client.
func (s *stream[T]) Send(d *T) error {
	select {
	case s.deliveries <- d:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// begin starts a stream and returns when it is admitted or refused.
func begin[T any](ctx context.Context, t *testing.T, serve func(*stream[T]) error) (*stream[T], error) {
	s := &stream[T]{admitted: make(chan struct{}), deliveries: make(chan *T), ended: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ended <- serve(s)
	}()
	t.Cleanup(func() { s.cancel(); <-done })
	select {
	case <-s.admitted:
		return s, nil
	case err := <-s.ended:
		return nil, err
	case <-time.After(patience):
		return nil, context.DeadlineExceeded
	}
}

// next receives one delivery.
func (s *stream[T]) next(t require.TestingT) *T {
	select {
	case d := <-s.deliveries:
		return d
	case err := <-s.ended:
		require.NoError(t, err)
		require.Fail(t, "the stream has ended")
	case <-time.After(patience):
		require.Fail(t, "nothing comes")
	}
	return nil
}

// end returns why the stream ended.
func (s *stream[T]) end(t require.TestingT) error {
	select {
	case err := <-s.ended:
		return err
	case d := <-s.deliveries:
		require.Fail(t, "a delivery came instead of the end of the stream", "%v", d)
	case <-time.After(patience):
		require.Fail(t, "the stream did not end")
	}
	return nil
}

// stream streams a subscription as its subscriber.
func (r rooms) stream(t *testing.T, sub *openintentv1.Subscription, req *openintentv1.StreamDeliveriesRequest) *stream[wireDelivery] {
	s, err := r.tryStream(as(sub.GetSubscriberId()), t, sub, req)
	require.NoError(t, err)
	return s
}

func (r rooms) tryStream(
	ctx context.Context, t *testing.T, sub *openintentv1.Subscription, req *openintentv1.StreamDeliveriesRequest,
) (*stream[wireDelivery], error) {
	if req == nil {
		req = &openintentv1.StreamDeliveriesRequest{}
	}
	req.SubscriptionId = sub.GetId()
	return begin(ctx, t, func(s *stream[wireDelivery]) error { return r.subscriptions.StreamDeliveries(req, s) })
}

// follow streams what reaches an agent, as that agent.
func (r rooms) follow(t *testing.T, agent string, after *int64) *stream[wireOwn] {
	s, err := r.tryFollow(as(agent), t, agent, after)
	require.NoError(t, err)
	return s
}

// ownLog returns an agent's own log as it is stored, which nobody streams.
func (r rooms) ownLog(t *testing.T, agent string) (own *record.Subscription) {
	s := r.follow(t, agent, nil)
	require.True(t, s.next(t).GetCaughtUp())
	s.cancel()
	require.ErrorIs(t, s.end(t), context.Canceled)
	require.NoError(t, r.db.ReadStatement(t.Context(), func(tx *database.Tx) (err error) {
		own, err = record.FindNamed(tx, agent, record.OwnName)
		return err
	}))
	return own
}

func (r rooms) tryFollow(ctx context.Context, t *testing.T, agent string, after *int64) (*stream[wireOwn], error) {
	req := &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent}, AfterPosition: after,
	}
	return begin(ctx, t, func(s *stream[wireOwn]) error { return r.messaging.Subscribe(req, s) })
}
