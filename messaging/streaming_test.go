package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// streaming is a stream under way, seen from both sides: Subscribe sends to it, and the test receives.
type streaming struct {
	grpc.ServerStream
	ctx        context.Context
	cancel     context.CancelFunc
	admitted   chan struct{}
	accepted   metadata.MD // once admitted is closed
	deliveries chan *wireDelivery
	ended      chan error
	marks      []int64 // positions of the caught_up that were received
}

func (f *streaming) Context() context.Context { return f.ctx }

func (f *streaming) SendHeader(header metadata.MD) error {
	f.accepted = header
	close(f.admitted)
	return nil
}

// Send is SendMsg of a delivery.
func (f *streaming) Send(d *wireDelivery) error { return f.SendMsg(d) }

// SendMsg waits until the test receives, as a slow client makes it wait.
func (f *streaming) SendMsg(message any) error {
	select {
	case f.deliveries <- message.(*wireDelivery):
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// tryFollow begins a stream of a channel and returns when it is admitted or refused.
func (h *house) tryFollow(ctx context.Context, channelID string, after *int64) (*streaming, error) {
	return h.trySubscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channelID}, AfterPosition: after,
	})
}

// trySubscribe begins a stream and returns when it is admitted or refused. One from now on has then said that it has caught
// up, so that nothing stands between the test and what comes.
func (h *house) trySubscribe(ctx context.Context, req *openintentv1.SubscribeRequest) (*streaming, error) {
	f := &streaming{admitted: make(chan struct{}), deliveries: make(chan *wireDelivery), ended: make(chan error, 1)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	go func() { f.ended <- h.messaging.Subscribe(req, f) }()
	select {
	case <-f.admitted:
	case err := <-f.ended:
		f.cancel()
		return nil, err
	case <-time.After(patience):
		f.cancel()
		return nil, context.DeadlineExceeded
	}
	if req.AfterPosition != nil {
		return f, nil
	}
	select {
	case d := <-f.deliveries:
		f.received(d)
		return f, nil
	case err := <-f.ended:
		f.cancel()
		return nil, err
	case <-time.After(patience):
		f.cancel()
		return nil, context.DeadlineExceeded
	}
}

// received reports whether a delivery is more than the mark that the stream has caught up, and notes that.
func (f *streaming) received(d *wireDelivery) bool {
	if d.GetCaughtUp() {
		f.marks = append(f.marks, d.GetPosition())
	}
	return !d.GetCaughtUp()
}

// follow begins a stream that ends with the test at the latest.
func (h *house) follow(t *testing.T, agent, channelID string, after *int64) *streaming {
	f, err := h.tryFollow(as(agent), channelID, after)
	require.NoError(t, err)
	t.Cleanup(f.cancel)
	return f
}

// next receives one delivery that is not the mark.
func (f *streaming) next(t require.TestingT) *wireDelivery {
	select {
	case d := <-f.deliveries:
		if !f.received(d) {
			return f.next(t)
		}
		return d
	case err := <-f.ended:
		require.NoError(t, err)
		require.Fail(t, "the stream has ended")
	case <-time.After(patience):
		require.Fail(t, "nothing comes")
	}
	return nil
}

// texts receives as many deliveries and gives their texts.
func (f *streaming) texts(t require.TestingT, count int) []string {
	texts := make([]string, count)
	for i := range texts {
		texts[i] = textOf(f.next(t).GetMessage())
	}
	return texts
}

// end waits for the end of the stream, before which nothing may come any more, and gives its reason.
func (f *streaming) end(t require.TestingT) error {
	select {
	case d := <-f.deliveries:
		if !f.received(d) {
			return f.end(t)
		}
		require.Fail(t, "something came instead of the end", "%v", d)
	case err := <-f.ended:
		return err
	case <-time.After(patience):
		require.Fail(t, "the stream does not end")
	}
	return nil
}
