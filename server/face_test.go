package server

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// maxTestStreams is how many streams one caller may have.
const maxTestStreams = 3

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

// scriptedMessages is a message service whose methods do whatever a test wants.
type scriptedMessages struct {
	openintentv1.UnimplementedMessageServiceServer
	send      func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error)
	ask       func(context.Context, *openintentv1.AskRequest) (*openintentv1.Message, error)
	subscribe func(*openintentv1.SubscribeRequest, grpc.ServerStreamingServer[openintentv1.SubscribeResponse]) error
}

func (s *scriptedMessages) SendMessage(ctx context.Context, r *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	return s.send(ctx, r)
}

func (s *scriptedMessages) Ask(ctx context.Context, r *openintentv1.AskRequest) (*openintentv1.Message, error) {
	return s.ask(ctx, r)
}

func (s *scriptedMessages) Subscribe(
	r *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	return s.subscribe(r, stream)
}

// scriptedSubscriptions is a subscription service whose stream does whatever a test wants.
type scriptedSubscriptions struct {
	openintentv1.UnimplementedSubscriptionServiceServer
	stream func(*openintentv1.StreamDeliveriesRequest, deliveryStream) error
}

type deliveryStream = grpc.ServerStreamingServer[openintentv1.SubscriptionDelivery]

func (s *scriptedSubscriptions) StreamDeliveries(r *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
	return s.stream(r, stream)
}

// lockedBuffer is a log that a test may read while it is being written.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

// face is a gRPC server with our interceptors in front of scripted services.
type face struct {
	service  *scriptedMessages
	messages openintentv1.MessageServiceClient
	channels openintentv1.ChannelServiceClient
	durable  *scriptedSubscriptions
	streams  openintentv1.SubscriptionServiceClient
	health   healthv1.HealthClient
	log      *lockedBuffer
	metrics  *metrics
	through  *interceptors
	// connections are the server's connections, and dial opens another one to it.
	connections *connections
	dial        func(context.Context) (net.Conn, error)
	stop        context.CancelFunc
}

func newFace(t *testing.T, level slog.Level) *face {
	f := &face{service: &scriptedMessages{}, durable: &scriptedSubscriptions{}, log: &lockedBuffer{}, metrics: newMetrics()}
	keys, err := LoadKeys("open,bound=agent-a", "")
	require.NoError(t, err)
	stopping, stop := context.WithCancel(context.Background())
	f.stop = stop
	logger := slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: level}))
	f.through, err = newInterceptors(stopping, keys, testLimits(), f.metrics, logger)
	require.NoError(t, err)
	f.connections = newConnections(f.through.memory, newStrangers(0), logger)
	server := newGRPCServer(DefaultConfig(), nil, f.through, f.connections)
	early := earlyRegistrar{server, f.through}
	openintentv1.RegisterMessageServiceServer(early, f.service)
	openintentv1.RegisterSubscriptionServiceServer(early, f.durable)
	openintentv1.RegisterChannelServiceServer(early, openintentv1.UnimplementedChannelServiceServer{})
	healthv1.RegisterHealthServer(early, health.NewServer())
	listener := bufconn.Listen(1 << 20)
	f.dial = listener.DialContext
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	connection, err := grpc.NewClient("passthrough:///test",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	f.messages = openintentv1.NewMessageServiceClient(connection)
	f.streams = openintentv1.NewSubscriptionServiceClient(connection)
	f.channels = openintentv1.NewChannelServiceClient(connection)
	f.health = healthv1.NewHealthClient(connection)
	t.Cleanup(func() {
		stop()
		require.NoError(t, connection.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	return f
}

// as returns the context of a call with these headers; it ends when the test's patience does.
func as(t *testing.T, headers ...string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, headers...)
}

func aMessage() *openintentv1.SendMessageRequest {
	return &openintentv1.SendMessageRequest{ChannelId: "chan_1", Payload: &structpb.Struct{}}
}

func reasonOfError(t *testing.T, err error) string {
	made, ok := status.FromError(err)
	require.True(t, ok, "%v", err)
	for _, detail := range made.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			require.Equal(t, "openintent", info.GetDomain())
			return info.GetReason()
		}
	}
	t.Fatalf("no ErrorInfo on %v", err)
	return ""
}
