package openintent

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// confirmedAfter is after which time a stream of acknowledgements ends, so that the server confirms it. Whoever acknowledges no more
	// often than that does so by single calls.
	confirmedAfter = time.Second
	// confirmedAtMost is how many deliveries a stream acknowledges at most before it ends.
	confirmedAtMost = 10_000
	// confirmPatience is how long to wait for the server to confirm a stream.
	confirmPatience = 10 * time.Second
	// streamPause is how long the agent acknowledges by calls after a stream was not confirmed.
	streamPause = 10 * time.Second
)

// acknowledgements is a stream on which an agent acknowledges deliveries of one subscription. The server answers it once, when it ends. What
// a stream has acknowledged that ends without that answer is acknowledged again by calls, which does no harm.
type acknowledgements struct {
	subscription string
	requests     grpc.ClientStreamingClient[openintentv1.StreamAcknowledgementsRequest, openintentv1.StreamAcknowledgementsResponse]
	cancel       context.CancelFunc
	// sent are the numbers that it has acknowledged. due runs out when the stream has to end.
	sent []int64
	due  *time.Timer
	over time.Time
}

// full reports whether the stream has to end.
func (s *acknowledgements) full() bool {
	return len(s.sent) >= confirmedAtMost || !time.Now().Before(s.over)
}

// send acknowledges deliveries on the stream, and begins one if there is none.
func (a *acknowledger) send(ctx context.Context, subscription string, numbers []int64) {
	if a.stream == nil && !a.begin(ctx, subscription) {
		a.call(ctx, subscription, numbers)
		return
	}
	a.stream.sent = append(a.stream.sent, numbers...)
	// If the stream has ended, sending fails, and the reason comes with the answer.
	if a.stream.requests.Send(&openintentv1.StreamAcknowledgementsRequest{SubscriptionId: subscription, Numbers: numbers}) != nil {
		a.confirm(ctx)
	}
}

// begin opens a stream, and reports whether that succeeded. It fails while the server is away.
func (a *acknowledger) begin(ctx context.Context, subscription string) bool {
	lasting, cancel := context.WithCancel(ctx)
	requests, err := a.receiver.client.raw.Experimental.StreamAcknowledgements(lasting)
	if err != nil {
		cancel()
		return false
	}
	over := time.Now().Add(confirmedAfter) // before the timer begins, so that it is over when the timer ends
	a.stream = &acknowledgements{
		subscription: subscription, requests: requests, cancel: cancel, due: time.NewTimer(confirmedAfter), over: over,
	}
	return true
}

// confirm ends the stream and waits until the server has stored what it acknowledged.
func (a *acknowledger) confirm(ctx context.Context) {
	s := a.stream
	a.stream = nil
	s.due.Stop()
	defer s.cancel()
	defer time.AfterFunc(confirmPatience, s.cancel).Stop()
	_, err := s.requests.CloseAndRecv()
	if err == nil || ctx.Err() != nil {
		return
	}
	a.pausedUntil = time.Now().Add(streamPause)
	if status.Code(err) == codes.Unimplemented { // a server of an earlier release
		a.singly = true
	}
	a.receiver.log.debug("acknowledges by calls what the server did not confirm", err)
	a.call(ctx, s.subscription, s.sent)
}
