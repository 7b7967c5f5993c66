package server

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// streamReader receives a stream's responses. It is called in the goroutine that serves the stream, one call at a
// time; an error tells the service that nobody reads any more.
type streamReader interface {
	// accept receives the header, once, when the service sends it or its first response.
	accept(header metadata.MD) error
	// take receives one response.
	take(response any) error
}

// Stream runs a call that answers one request with many responses, in the caller's goroutine and without any buffer:
// an idle stream costs only the service's own stack. The service ends with the context, or when the reader takes no
// more. Stream returns the interceptors' error once the service has ended.
func (c *inProcess) Stream(ctx context.Context, fullMethod string, request any, to streamReader) error {
	service, name := c.find(fullMethod)
	description, ok := service.streams[name]
	if !ok || description.ClientStreams {
		return unknownMethod(fullMethod)
	}
	s := &servedStream{sentHeaders: sentHeaders{method: fullMethod}, request: request, to: to}
	s.ctx = incoming(ctx, s)
	info := &grpc.StreamServerInfo{FullMethod: fullMethod, IsServerStream: true}
	return c.stream(service.implementation, serviceSide{s}, info, description.Handler)
}

// servedStream is a stream that is being served.
type servedStream struct {
	sentHeaders
	ctx context.Context
	// request is nil once the service has it.
	request  any
	to       streamReader
	accepted bool
}

// SendHeader adds to the header and hands it to the reader, unless the reader already has it.
func (s *servedStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil || s.accepted {
		return err
	}
	s.accepted = true
	return s.to.accept(s.taken())
}

// serviceSide is the stream as the service sees it. It is a separate type because grpc.ServerStream and
// grpc.ServerTransportStream have SetTrailer methods with different signatures.
type serviceSide struct{ stream *servedStream }

var _ grpc.ServerStream = serviceSide{}

func (s serviceSide) Context() context.Context { return s.stream.ctx }

func (s serviceSide) SetHeader(md metadata.MD) error { return s.stream.SetHeader(md) }

func (s serviceSide) SendHeader(md metadata.MD) error { return s.stream.SendHeader(md) }

// SetTrailer stores trailers that nobody reads: a stream ends with its error alone.
func (s serviceSide) SetTrailer(md metadata.MD) { _ = s.stream.SetTrailer(md) }

// SendMsg hands a response to the reader and waits until the reader has taken it.
func (s serviceSide) SendMsg(response any) error {
	if err := s.stream.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if !s.stream.accepted {
		if err := s.stream.SendHeader(nil); err != nil {
			return err
		}
	}
	return s.stream.to.take(response)
}

// RecvMsg returns the request the first time and io.EOF from then on.
func (s serviceSide) RecvMsg(into any) error {
	request := s.stream.request
	if request == nil {
		return io.EOF
	}
	s.stream.request = nil
	return handOver(request, into)
}
