package server

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/reach"
)

// preparedStream is a stream whose requests are checked and whose context carries the caller. If its client takes part in probes, they are sent
// between what the service sends.
type preparedStream struct {
	grpc.ServerStream
	ctx     context.Context
	prepare func(request any) error

	// probes is true once the client has said that it takes part in probes. Then the mutex keeps a probe and the service from sending at once.
	probes bool
	mutex  sync.Mutex
	// ended is true once the service has returned: nothing may be sent any more.
	ended bool
}

func newPreparedStream(ctx context.Context, stream grpc.ServerStream, prepare func(request any) error) *preparedStream {
	return &preparedStream{ServerStream: stream, ctx: ctx, prepare: prepare}
}

func (s *preparedStream) Context() context.Context { return s.ctx }

func (s *preparedStream) RecvMsg(request any) (err error) {
	defer fault.Recover(&err) // a service may receive on a goroutine of its own
	if err := s.ServerStream.RecvMsg(request); err != nil {
		return err
	}
	if err := s.prepare(request); err != nil {
		return err
	}
	if asked, ok := request.(interface{ GetProbes() bool }); ok && asked.GetProbes() {
		s.probes = true
		reach.TakesProbes(s.ctx, func(id string) (bool, error) { return false, s.sendProbe(request, id) })
	}
	return nil
}

// SendMsg sends what the service sends.
func (s *preparedStream) SendMsg(response any) error {
	if !s.probes {
		return s.ServerStream.SendMsg(response)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ServerStream.SendMsg(response)
}

// sendProbe sends a probe in the form of the stream's responses. The stream may have ended meanwhile.
func (s *preparedStream) sendProbe(request any, id string) error {
	var probe proto.Message = &openintentv1.SubscribeResponse{ProbeId: id}
	if deliveries, ok := request.(*openintentv1.StreamDeliveriesRequest); ok {
		probe = &openintentv1.SubscriptionDelivery{SubscriptionId: deliveries.GetSubscriptionId(), ProbeId: id}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return io.EOF
	}
	return s.ServerStream.SendMsg(probe)
}

// end lets no probe be sent any more.
func (s *preparedStream) end() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ended = true
}
