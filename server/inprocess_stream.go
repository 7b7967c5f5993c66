package server

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// NewStream begins a stream on which the service answers one request with many responses; other streams are refused.
// The service runs from the request on until it returns or the context ends. Nothing is buffered between the sides: the
// service waits until its response is received.
//
// The caller must receive until it gets an error, or cancel the context: otherwise the service waits for ever.
func (c *inProcess) NewStream(
	ctx context.Context, description *grpc.StreamDesc, fullMethod string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	service, name := c.find(fullMethod)
	registeredStream, ok := service.streams[name]
	if !ok {
		return nil, unknownMethod(fullMethod)
	}
	if description.ClientStreams || registeredStream.ClientStreams {
		return nil, status.Error(codes.Unimplemented, "In the process, streams of requests are not carried.")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &inProcessStream{
		ctx:       ctx,
		cancel:    cancel,
		responses: make(chan any),
		accepted:  make(chan struct{}),
		ended:     make(chan struct{}),
	}
	s.headers = &streamHeaders{sentHeaders: sentHeaders{method: fullMethod}, send: s.accept}
	s.run = func(request any) {
		defer close(s.ended)
		defer cancel()
		side := &serviceSide{stream: s, ctx: incoming(ctx, s.headers), request: request}
		info := &grpc.StreamServerInfo{FullMethod: fullMethod, IsServerStream: true}
		s.err = c.stream(service.implementation, side, info, registeredStream.Handler)
	}
	return s, nil
}

// inProcessStream is a stream as its caller holds it.
type inProcessStream struct {
	ctx       context.Context
	cancel    context.CancelFunc
	run       func(request any)
	headers   *streamHeaders
	responses chan any
	// accepted is closed when the service sends its header or its first response.
	accepted     chan struct{}
	acceptedOnce sync.Once
	// ended is closed when the service has returned; err is what it returned.
	ended chan struct{}
	err   error
}

func (s *inProcessStream) accept() { s.acceptedOnce.Do(func() { close(s.accepted) }) }

// Header waits until the service accepted the call, by sending its header or a response. It gives nil when the service
// ended the call before that; RecvMsg tells why.
func (s *inProcessStream) Header() (metadata.MD, error) {
	select {
	case <-s.accepted:
	case <-s.ended:
	}
	select {
	case <-s.accepted:
		return s.headers.taken(), nil
	default:
		return nil, nil
	}
}

// Trailer gives the trailer, once RecvMsg has returned an error.
func (s *inProcessStream) Trailer() metadata.MD { return s.headers.takenTrailer() }

// CloseSend does nothing: the one request was the last.
func (s *inProcessStream) CloseSend() error { return nil }

// Context is the stream's; it ends with the stream.
func (s *inProcessStream) Context() context.Context { return s.ctx }

// SendMsg sends the one request and so begins the call.
func (s *inProcessStream) SendMsg(request any) error {
	go s.run(request)
	return nil
}

// RecvMsg gives the next response, io.EOF after the last one, or the error with which the service ended.
func (s *inProcessStream) RecvMsg(into any) error {
	select {
	case response := <-s.responses:
		return handOver(response, into)
	case <-s.ended:
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
}

// serviceSide is the same stream as the service holds it.
type serviceSide struct {
	stream  *inProcessStream
	ctx     context.Context
	request any
}

func (s *serviceSide) Context() context.Context { return s.ctx }

func (s *serviceSide) SetHeader(md metadata.MD) error { return s.stream.headers.SetHeader(md) }

func (s *serviceSide) SendHeader(md metadata.MD) error { return s.stream.headers.SendHeader(md) }

func (s *serviceSide) SetTrailer(md metadata.MD) { _ = s.stream.headers.SetTrailer(md) }

// SendMsg waits until the response is received.
func (s *serviceSide) SendMsg(response any) error {
	s.stream.accept()
	select {
	case s.stream.responses <- response:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg gives the request the first time and io.EOF from then on.
func (s *serviceSide) RecvMsg(into any) error {
	if s.request == nil {
		return io.EOF
	}
	request := s.request
	s.request = nil
	return handOver(request, into)
}

// streamHeaders tells the caller when the service sends its header.
type streamHeaders struct {
	sentHeaders
	send func()
}

// SendHeader adds to the header and sends it.
func (h *streamHeaders) SendHeader(md metadata.MD) error {
	err := h.SetHeader(md)
	h.send()
	return err
}
