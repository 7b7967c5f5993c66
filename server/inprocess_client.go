package server

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// NewStream begins a call that answers one request with many responses, for the generated clients that doors use. The service
// runs in a goroutine of its own and hands over one response at a time, so a client that reads slowly holds it up and fills no
// buffer. Streams of many requests cannot begin within the process.
func (c *inProcess) NewStream(
	ctx context.Context, description *grpc.StreamDesc, fullMethod string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if description.ClientStreams {
		return nil, status.Error(codes.Unimplemented, "Streams of many requests cannot begin within the process.")
	}
	ctx, end := context.WithCancel(ctx)
	return &clientSide{
		connection: c, method: fullMethod, ctx: ctx, end: end,
		responses: make(chan any), header: make(chan metadata.MD, 1), ended: make(chan struct{}),
	}, nil
}

// clientSide is a stream as a client within the process sees it. The service starts with the request and ends with the client's
// context.
type clientSide struct {
	connection *inProcess
	method     string
	ctx        context.Context
	end        context.CancelFunc

	responses chan any
	header    chan metadata.MD
	// ended is closed once the service has returned err.
	ended chan struct{}
	err   error
}

var (
	_ grpc.ClientStream = (*clientSide)(nil)
	_ streamReader      = (*clientSide)(nil)
)

// SendMsg starts the service with its only request.
func (s *clientSide) SendMsg(request any) error {
	go func() {
		defer close(s.ended)
		s.err = s.connection.Stream(s.ctx, s.method, request, s)
	}()
	return nil
}

// CloseSend does nothing: there is one request.
func (s *clientSide) CloseSend() error { return nil }

// RecvMsg waits for the next response. After the last one it returns io.EOF, or the error with which the service ended.
func (s *clientSide) RecvMsg(into any) error {
	select {
	case response := <-s.responses:
		return handOver(response, into)
	case <-s.ended:
		s.end()
		if s.err == nil {
			return io.EOF
		}
		return s.err
	}
}

// accept keeps the header for Header.
func (s *clientSide) accept(header metadata.MD) error {
	s.header <- header
	return nil
}

// take hands a response to RecvMsg.
func (s *clientSide) take(response any) error {
	select {
	case s.responses <- response:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// Header waits for the header.
func (s *clientSide) Header() (metadata.MD, error) {
	select {
	case header := <-s.header:
		s.header <- header
		return header, nil
	case <-s.ended:
		return nil, s.err
	}
}

// Trailer is empty: a stream within the process ends with its error alone.
func (s *clientSide) Trailer() metadata.MD { return nil }

// Context returns the stream's context.
func (s *clientSide) Context() context.Context { return s.ctx }
