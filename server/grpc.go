package server

import (
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxStreamsPerConnection allows one connection to carry many agents' streams and waits, but not without limit.
	maxStreamsPerConnection = 10_000
	// After quietFor without traffic, the server asks a client whether it lives; answerWithin is how long the reply
	// may take. So the streams of a client that has vanished end within the sum of both.
	quietFor     = 10 * time.Second
	answerWithin = 5 * time.Second
	// leastPingInterval is how often a client may ask the server the same. Clients behind proxies do that to keep
	// quiet streams alive.
	leastPingInterval = 10 * time.Second
	// readBufferUnderTLS is the read buffer that each connection keeps, in bytes: ten thousand connections keep 80
	// MiB.
	readBufferUnderTLS = 8 << 10
	// connectTimeout bounds the handshake of a new connection.
	connectTimeout = 20 * time.Second
	// maxHeaderListBytes bounds a call's headers.
	maxHeaderListBytes = 64 << 10
	// streamWindow is how many bytes of a stream's requests may wait unread, and connectionWindow how many bytes of
	// all calls on a connection may be on their way to the server. gRPC makes room for the rest of a larger request
	// once the handler waits for it.
	streamWindow     = 64 << 10
	connectionWindow = 4 << 20
	// callWorkers is the number of goroutines that serve calls one after the other, so that short calls need not grow
	// a new stack each. A call that finds no free worker gets its own goroutine, so streams and waits delay nobody.
	callWorkers = 64
)

// newGRPCServer makes the server of the gRPC port. Connections may live for ever: streams are long, and a stop tells
// clients to go elsewhere. gRPC takes a buffer only for the time of a read or a write, so an idle connection keeps
// none; under TLS it keeps its read buffer.
//
// Unary calls come through earlyRegistrar, so that no part of a request is read before its caller is known.
func newGRPCServer(
	cfg Config, encryption *tls.Config, through *interceptors, connections *connections,
) *grpc.Server {
	security := handshake{insecure.NewCredentials(), connections, true}
	if encryption != nil {
		security = handshake{credentials.NewTLS(encryption.Clone()), connections, false}
	}
	options := []grpc.ServerOption{
		grpc.Creds(security),
		grpc.ForceServerCodecV2(newAnswerCodec()),
		grpc.StreamInterceptor(through.stream),
		grpc.MaxHeaderListSize(maxHeaderListBytes),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.MaxRecvMsgSize(cfg.maxReceiveBytes()),
		grpc.MaxConcurrentStreams(maxStreamsPerConnection),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.NumStreamWorkers(callWorkers),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPingInterval, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: quietFor, Timeout: answerWithin}),
	}
	if encryption != nil {
		options = append(options, grpc.ReadBufferSize(readBufferUnderTLS))
	}
	return grpc.NewServer(options...)
}
