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
	// maxStreamsPerConnection lets one connection carry many agents' streams and waits, but not without end.
	maxStreamsPerConnection = 10_000
	// quietFor is after which silence a client is asked whether it lives, and answerWithin how long it may take: its streams
	// are over within their sum after it is gone.
	quietFor     = 30 * time.Second
	answerWithin = 10 * time.Second
	// leastPingInterval is how often a client may ask the same. Those behind proxies do, to keep quiet streams alive.
	leastPingInterval = 10 * time.Second
	// readBufferUnderTLS is what each connection keeps for reading, in bytes: ten thousand of them keep 80 MiB.
	readBufferUnderTLS = 8 << 10
	// connectTimeout bounds the handshake of a new connection.
	connectTimeout = 20 * time.Second
	// maxHeaderListBytes bounds a call's headers.
	maxHeaderListBytes = 64 << 10
	// streamWindow is how much of a stream's requests may wait unread, in bytes, and connectionWindow how much of all calls on
	// a connection may be under way to the server. gRPC makes room for the rest of a larger request once it is waited for.
	streamWindow     = 64 << 10
	connectionWindow = 4 << 20
	// callWorkers are goroutines that take calls one after the other, so that short ones need not grow a stack each. A call
	// that finds none free gets one of its own, so streams and waits hold up nobody.
	callWorkers = 64
)

// newGRPCServer makes the server of the gRPC port. Connections may live for ever: streams are long, and a stop tells
// clients to go elsewhere. gRPC itself takes buffers for the time of a read or a write only, so an idle connection keeps
// none; but under TLS it keeps the one for reading.
//
// Calls without stream come through earlyRegistrar, so that nothing of a request is read before its caller is known.
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
