package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
)

// carrier is the identity of a stream that carries calls, as of the stream's start. The calls have it too.
type carrier struct {
	who caller.Caller
	key *apiKey
	// connection is the context of the stream as gRPC made it: it ends when the client is gone, and not when the key or the server ends.
	connection context.Context
}

type carrierKey struct{}

// carrierOf returns the carrier of a call; nil for a call that nothing carries.
func carrierOf(ctx context.Context) *carrier {
	found, _ := ctx.Value(carrierKey{}).(*carrier)
	return found
}

// ownHeaders are headers that mean one call, and so none of those that a stream carries.
var ownHeaders = []string{"idempotency-key", "if-match"}

// calls returns a context for the calls that a stream carries, and what ends them. It goes on when the stream's key or the server ends, so
// that what was taken up is answered.
func (c *carrier) calls(stream context.Context) (ctx context.Context, end context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stream))
	forget := context.AfterFunc(c.connection, cancel)
	headers, _ := metadata.FromIncomingContext(ctx)
	headers = headers.Copy()
	for _, name := range ownHeaders {
		delete(headers, name)
	}
	ctx = metadata.NewIncomingContext(ctx, headers)
	return grpc.NewContextWithServerTransportStream(ctx, noHeaders{}), func() { forget(); cancel() }
}

// noHeaders is what a carried call has in place of a stream of its own. The stream's headers are for the stream.
type noHeaders struct{}

// Method has nothing to name: the interceptors know it.
func (noHeaders) Method() string { return "" }

// SetHeader does nothing, as the others.
func (noHeaders) SetHeader(metadata.MD) error { return nil }

// SendHeader does nothing.
func (noHeaders) SendHeader(metadata.MD) error { return nil }

// SetTrailer does nothing.
func (noHeaders) SetTrailer(metadata.MD) error { return nil }
