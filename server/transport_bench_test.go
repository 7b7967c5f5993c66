package server

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// BenchmarkUnaryCall measures a whole call over loopback to a service that does nothing.
func BenchmarkUnaryCall(b *testing.B) {
	keys, err := LoadKeys("open,bound=agent-a", "")
	require.NoError(b, err)
	through, err := newInterceptors(b.Context(), keys, testLimits(), newMetrics(), slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	server := newGRPCServer(DefaultConfig(), nil, through, newConnections(through.memory, newStrangers(0), slog.New(slog.DiscardHandler)))
	service := &scriptedMessages{send: func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		return &openintentv1.Message{}, nil
	}}
	openintentv1.RegisterMessageServiceServer(earlyRegistrar{server, through}, service)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	defer func() { _ = connection.Close() }()
	messages := openintentv1.NewMessageServiceClient(connection)
	ctx := metadata.AppendToOutgoingContext(b.Context(), "x-api-key", "bound")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := messages.SendMessage(ctx, aMessage()); err != nil {
			b.Fatal(err)
		}
	}
}
