package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

func TestACallCarriesItsCallerAndItsHeaders(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.send = func(ctx context.Context, r *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		who, ok := caller.From(ctx)
		require.True(t, ok)
		return &openintentv1.Message{Sender: who.Agent, Id: r.GetIdempotencyKey()}, nil
	}
	sent, err := f.messages.SendMessage(as(t, "x-api-key", "bound", "idempotency-key", "once"), aMessage())
	require.NoError(t, err)
	require.Equal(t, "agent-a", sent.GetSender())
	require.Equal(t, "once", sent.GetId())
	require.Empty(t, f.log.String(), "successes are logged at debug only")
}

func TestRefusalsComeBeforeTheService(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.send = func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		t.Error("the service was reached")
		return &openintentv1.Message{}, nil
	}
	_, err := f.messages.SendMessage(as(t), aMessage())
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.Equal(t, "API_KEY_MISSING", reasonOfError(t, err))

	_, err = f.messages.SendMessage(as(t), &openintentv1.SendMessageRequest{})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "the refusal says nothing about the request before the key is known")

	_, err = f.messages.SendMessage(as(t, "x-api-key", "bound", "x-agent-id", "agent-b"), aMessage())
	require.Equal(t, codes.PermissionDenied, status.Code(err))

	_, err = f.messages.SendMessage(as(t, "x-api-key", "open"), &openintentv1.SendMessageRequest{ChannelId: "c"})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Equal(t, "INVALID_FIELD", reasonOfError(t, err))

	request := aMessage()
	request.IdempotencyKey = proto.String("one")
	_, err = f.messages.SendMessage(as(t, "x-api-key", "open", "idempotency-key", "two"), request)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.NotContains(t, f.log.String(), "open", "a key is never logged")
}

func TestAMethodWithoutAPolicyIsRefused(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.through.methods = maps.Clone(f.through.methods)
	delete(f.through.methods, openintentv1.MessageService_SendMessage_FullMethodName)
	delete(f.through.methods, openintentv1.MessageService_Subscribe_FullMethodName)
	_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage())
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.Equal(t, "METHOD_CLOSED", reasonOfError(t, err))
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, "METHOD_CLOSED", reasonOfError(t, err))
}

func TestErrorsOfServices(t *testing.T) {
	f := newFace(t, slog.LevelDebug)
	var returned error
	f.service.send = func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		return nil, returned
	}
	for _, test := range []struct {
		name     string
		returned error
		code     codes.Code
		reason   string
		level    string
	}{
		{"a refusal", fault.New(fault.Conflict, "CHANNEL_CLOSED", "The channel is closed."), codes.FailedPrecondition, "CHANNEL_CLOSED", "INFO"},
		{"any other error", errors.New("pq: secret table"), codes.Internal, "INTERNAL", "ERROR"},
		{"an unimplemented method", status.Error(codes.Unimplemented, "not yet"), codes.Unimplemented, "UNIMPLEMENTED", "INFO"},
		{"the server stopping", errStopping, codes.Unavailable, "SERVER_STOPPING", "DEBUG"},
		{"the database away", errDatabaseAway.Because(errors.New("dial 10.0.0.1")), codes.Unavailable, "DATABASE_UNAVAILABLE", "WARN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			returned = test.returned
			before := len(f.log.String())
			var header metadata.MD
			_, err := f.messages.SendMessage(as(t, "x-api-key", "open", "x-request-id", "req-7"), aMessage(), grpc.Header(&header))
			require.Equal(t, test.code, status.Code(err))
			require.Equal(t, test.reason, reasonOfError(t, err))
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "10.0.0.1")
			require.Equal(t, []string{"req-7"}, header.Get("x-request-id"))
			line := f.log.String()[before:]
			require.Contains(t, line, `"level":"`+test.level+`"`)
			require.Contains(t, line, `"reason":"`+test.reason+`"`)
			require.Contains(t, line, `"code":"`+codeName(test.code)+`"`)
			require.Contains(t, line, `"method":"MessageService/SendMessage"`)
			require.Contains(t, line, `"request_id":"req-7"`)
			require.Contains(t, line, `"agent":"operator"`)
			require.Contains(t, line, `"peer":`)
		})
	}
	require.Contains(t, f.log.String(), "secret table", "the cause of a failure is in the log")
	require.Contains(t, f.log.String(), "dial 10.0.0.1")
}

// A stream that has brought everything of a channel ends as it is meant to.
func TestTheNormalEndOfAStreamIsNoFailureInTheLog(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.subscribe = func(*openintentv1.SubscribeRequest, grpc.ServerStreamingServer[openintentv1.SubscribeResponse]) error {
		return fault.New(fault.Conflict, "CHANNEL_CLOSED", "The channel is closed.")
	}
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: "c"},
	})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, "CHANNEL_CLOSED", reasonOfError(t, err), "the client is told as before")
	require.NotContains(t, f.log.String(), "CHANNEL_CLOSED")
}

func TestPanicsBecomeInternalErrors(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.send = func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		panic("the secret of a unary call")
	}
	f.service.subscribe = func(*openintentv1.SubscribeRequest, grpc.ServerStreamingServer[openintentv1.SubscribeResponse]) error {
		panic("the secret of a stream")
	}
	_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage())
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "secret")
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), aSubscription())
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "secret")
	require.Contains(t, f.log.String(), "the secret of a unary call")
	require.Contains(t, f.log.String(), "the secret of a stream")
	require.Contains(t, f.log.String(), "interceptors_test.go", "the stack shows where it happened")

	_, err = f.channels.GetChannel(as(t, "x-api-key", "open"), &openintentv1.GetChannelRequest{ChannelId: "c"})
	require.Equal(t, codes.Unimplemented, status.Code(err), "the server goes on")
}

func aSubscription() *openintentv1.SubscribeRequest {
	return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: "chan_1"}}
}

func TestStreamsAreIdentifiedAndValidated(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.subscribe = func(
		r *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
	) error {
		who, _ := caller.From(stream.Context())
		return stream.Send(&openintentv1.SubscribeResponse{ChannelName: who.Agent + " " + r.GetChannelId()})
	}
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "bound"), aSubscription())
	require.NoError(t, err)
	delivery, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, "agent-a chan_1", delivery.GetChannelName())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)

	stream, err = f.messages.Subscribe(as(t, "x-api-key", "bound"), &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	stream, err = f.messages.Subscribe(as(t), aSubscription())
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

func TestStoppingEndsWaitsLetsCallsFinishAndRefusesNewOnes(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	began := make(chan string, 4)
	finish := make(chan struct{})
	f.service.send = func(ctx context.Context, _ *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		began <- "send"
		<-finish
		return &openintentv1.Message{Id: "sent"}, ctx.Err()
	}
	f.service.ask = func(ctx context.Context, _ *openintentv1.AskRequest) (*openintentv1.Message, error) {
		began <- "ask"
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.service.subscribe = func(
		_ *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
	) error {
		began <- "subscribe"
		<-stream.Context().Done()
		return context.Cause(stream.Context())
	}
	f.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		began <- "deliveries"
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	outcomes := make(map[string]chan error)
	for _, name := range []string{"send", "ask", "subscribe", "deliveries"} {
		outcomes[name] = make(chan error, 1)
	}
	go func() {
		_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage())
		outcomes["send"] <- err
	}()
	go func() {
		_, err := f.messages.Ask(as(t, "x-api-key", "open"), &openintentv1.AskRequest{To: "b", Payload: &structpb.Struct{}})
		outcomes["ask"] <- err
	}()
	go func() {
		stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), aSubscription())
		if err == nil {
			_, err = stream.Recv()
		}
		outcomes["subscribe"] <- err
	}()
	go func() {
		stream, err := f.streams.StreamDeliveries(as(t, "x-api-key", "open"), &openintentv1.StreamDeliveriesRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		outcomes["deliveries"] <- err
	}()
	for range outcomes {
		<-began
	}
	watch, err := f.health.Watch(as(t), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)

	f.stop()
	for waiting, whatNow := range map[string]string{
		"ask": "try again in a moment", "subscribe": "go on after the last position", "deliveries": "go on after the last position",
	} {
		err := <-outcomes[waiting]
		require.Equal(t, codes.Unavailable, status.Code(err), waiting)
		require.Equal(t, "SERVER_STOPPING", reasonOfError(t, err), waiting)
		require.Contains(t, status.Convert(err).Message(), whatNow)
		require.True(t, saysWhenToRetry(err), waiting)
	}
	_, err = watch.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), "a health watch does not hold up the stop")

	_, err = f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage())
	require.Equal(t, "SERVER_STOPPING", reasonOfError(t, err), "a new call is refused")
	require.True(t, saysWhenToRetry(err), "the client is told to try again")
	_, err = f.health.Check(as(t), &healthv1.HealthCheckRequest{})
	require.NoError(t, err, "health answers to the end")

	close(finish)
	require.NoError(t, <-outcomes["send"], "a call under way is not cancelled")
}

func TestAClientsOwnCancelIsNotTheServersStop(t *testing.T) {
	f := newFace(t, slog.LevelDebug)
	began := make(chan struct{})
	ended := make(chan error, 1)
	f.service.ask = func(ctx context.Context, _ *openintentv1.AskRequest) (*openintentv1.Message, error) {
		close(began)
		<-ctx.Done()
		ended <- causeOf(ctx, ctx.Err())
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(as(t, "x-api-key", "open"))
	go func() { <-began; cancel() }()
	_, err := f.messages.Ask(ctx, &openintentv1.AskRequest{To: "b", Payload: &structpb.Struct{}})
	require.Equal(t, codes.Canceled, status.Code(err))
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestARequestAboveTheReceiveLimitIsRefused(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.send = func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		return &openintentv1.Message{}, nil
	}
	request := aMessage()
	request.Payload.Fields = map[string]*structpb.Value{"a": structpb.NewStringValue(strings.Repeat("x", 3<<20))}
	_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), request)
	require.NoError(t, err, "the service bounds payloads, not the transport")
	request.Payload.Fields["a"] = structpb.NewStringValue(strings.Repeat("x", 4<<20))
	_, err = f.messages.SendMessage(as(t, "x-api-key", "open"), request)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

func TestMetricsCountWhatHappened(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.send = func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		return &openintentv1.Message{}, nil
	}
	inside := make(chan struct{})
	f.service.subscribe = func(
		_ *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
	) error {
		close(inside)
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	for range 3 {
		_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage())
		require.NoError(t, err)
	}
	_, err := f.messages.SendMessage(as(t), aMessage())
	require.Error(t, err)
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), aSubscription())
	require.NoError(t, err)
	<-inside
	page := scrape(f.metrics)
	for _, line := range []string{
		`openintent_requests_total{code="OK",method="MessageService/SendMessage"} 3`,
		`openintent_requests_total{code="UNAUTHENTICATED",method="MessageService/SendMessage"} 1`,
		`openintent_request_duration_seconds_count{method="MessageService/SendMessage"} 4`,
		"openintent_requests_in_flight 0",
		"openintent_streams_open 1",
	} {
		require.Contains(t, page, line)
	}
	f.stop()
	_, err = stream.Recv()
	require.Error(t, err)
	require.Contains(t, scrape(f.metrics), "openintent_streams_open 0")
}

func scrape(m *metrics) string {
	page := httptest.NewRecorder()
	m.handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return page.Body.String()
}

func saysWhenToRetry(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if _, ok := detail.(*errdetails.RetryInfo); ok {
			return true
		}
	}
	return false
}
