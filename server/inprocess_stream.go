package server

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// streamReader is who a stream's responses are for. It is called in the goroutine that serves the stream, one call at a
// time; an error tells the service that nobody reads any more.
type streamReader interface {
	// accept gets the header, once, when the service sends it or its first response.
	accept(header metadata.MD) error
	// take gets one response.
	take(response any) error
}

// Stream runs a call that answers one request with many responses, in the caller's goroutine and without any buffer: an
// idle stream costs the service's own stack and nothing else. It returns what the interceptors return, once the service
// has ended; the service ends with the context, or when the reader takes no more.
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

// NewStream refuses: streams are run by Stream.
func (c *inProcess) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "In the process, streams are not begun by clients' code.")
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

// SendHeader adds to the header and hands it to the reader, unless that has it already.
func (s *servedStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil || s.accepted {
		return err
	}
	s.accepted = true
	return s.to.accept(s.taken())
}

// serviceSide is the stream as the service holds it. It is a type of its own because a stream and what is in its context
// set trailers by different signatures.
type serviceSide struct{ stream *servedStream }

var _ grpc.ServerStream = serviceSide{}

func (s serviceSide) Context() context.Context { return s.stream.ctx }

func (s serviceSide) SetHeader(md metadata.MD) error { return s.stream.SetHeader(md) }

func (s serviceSide) SendHeader(md metadata.MD) error { return s.stream.SendHeader(md) }

// SetTrailer keeps what nobody asks for: a stream ends with its error alone.
func (s serviceSide) SetTrailer(md metadata.MD) { _ = s.stream.SetTrailer(md) }

// SendMsg hands a response to the reader and waits until it has taken it.
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

// RecvMsg gives the request the first time and io.EOF from then on.
func (s serviceSide) RecvMsg(into any) error {
	request := s.stream.request
	if request == nil {
		return io.EOF
	}
	s.stream.request = nil
	return handOver(request, into)
}
