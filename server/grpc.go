package server

import (
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxStreamsPerConnection lets one connection carry many agents' streams and waits, but not without end.
	maxStreamsPerConnection = 10_000
	// connectTimeout bounds the handshake of a new connection.
	connectTimeout = 20 * time.Second
)

// newGRPCServer makes the server of the gRPC port. Connections may live for ever: streams are long, and a stop tells
// clients to go elsewhere.
func newGRPCServer(cfg Config, encryption *tls.Config, through *interceptors) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(through.unary),
		grpc.StreamInterceptor(through.stream),
		grpc.MaxRecvMsgSize(cfg.maxReceiveBytes()),
		grpc.MaxConcurrentStreams(maxStreamsPerConnection),
		grpc.ConnectionTimeout(connectTimeout),
		// Clients behind proxies ping to keep quiet streams alive; a dead client is noticed within two minutes.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 90 * time.Second, Timeout: 20 * time.Second}),
	}
	if encryption != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(encryption.Clone())))
	}
	return grpc.NewServer(options...)
}
