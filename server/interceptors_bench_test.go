package server

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// BenchmarkInterceptors measures what every unary call costs before and after its service.
func BenchmarkInterceptors(b *testing.B) {
	keys, err := LoadKeys("open,bound=agent-a", "")
	require.NoError(b, err)
	through, err := newInterceptors(b.Context(), keys, testLimits(), newMetrics(), slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs("x-api-key", "bound", "idempotency-key", "k",
		":authority", "localhost", "content-type", "application/grpc", "user-agent", "bench"))
	info := &grpc.UnaryServerInfo{FullMethod: openintentv1.MessageService_SendMessage_FullMethodName}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := through.unary(ctx, aMessage(), info, handler); err != nil {
			b.Fatal(err)
		}
	}
}
