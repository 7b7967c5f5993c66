package server

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// followed names what the streams of a test follow: one of each scope.
type followed struct{ intent, channel, subscription string }

func newFollowed(t *testing.T, connection *grpc.ClientConn) followed {
	ctx := as(t, "x-api-key", DevelopmentKey, "x-agent-id", "ann")
	intent, err := openintentv1.NewIntentServiceClient(connection).CreateIntent(ctx,
		&openintentv1.CreateIntentRequest{Title: "t"})
	require.NoError(t, err)
	channel, err := openintentv1.NewChannelServiceClient(connection).CreateChannel(ctx,
		&openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "n"})
	require.NoError(t, err)
	subscription, err := openintentv1.NewSubscriptionServiceClient(connection).CreateSubscription(ctx,
		&openintentv1.CreateSubscriptionRequest{IntentId: &intent.Id}) //nolint:protogetter // its address is needed
	require.NoError(t, err)
	return followed{intent: intent.GetId(), channel: channel.GetId(), subscription: subscription.GetId()}
}

// followOverGRPC opens a stream of each scope, waits until each is accepted, and returns functions that wait for each
// one's end.
func (f followed) followOverGRPC(t *testing.T, connection *grpc.ClientConn) (ends []func() error) {
	ctx := as(t, "x-api-key", DevelopmentKey, "x-agent-id", "ann")
	for _, request := range []*openintentv1.SubscribeRequest{
		{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: f.channel}},
		{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: f.intent}},
		{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "ann"}},
	} {
		stream, err := openintentv1.NewMessageServiceClient(connection).Subscribe(ctx, request)
		require.NoError(t, err)
		caughtUp, err := stream.Recv()
		require.NoError(t, err)
		require.True(t, caughtUp.GetCaughtUp())
		ends = append(ends, func() error { return drained(stream.Recv) })
	}
	stream, err := openintentv1.NewSubscriptionServiceClient(connection).StreamDeliveries(ctx,
		&openintentv1.StreamDeliveriesRequest{SubscriptionId: f.subscription})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	return append(ends, func() error { return drained(stream.Recv) })
}

// acknowledgeOverGRPC opens a stream of acknowledgements, and returns a function that waits for its end.
func (f followed) acknowledgeOverGRPC(t *testing.T, connection *grpc.ClientConn) (end func() error) {
	stream, err := openintentv1.NewExperimentalServiceClient(connection).StreamAcknowledgements(
		as(t, "x-api-key", DevelopmentKey, "x-agent-id", "ann"))
	require.NoError(t, err)
	require.NoError(t, stream.Send(&openintentv1.StreamAcknowledgementsRequest{SubscriptionId: f.subscription}))
	return func() error { return stream.RecvMsg(new(openintentv1.StreamAcknowledgementsResponse)) }
}

// drained receives until the stream has ended, and returns the reason.
func drained[T any](receive func() (T, error)) (err error) {
	for err == nil {
		_, err = receive()
	}
	return err
}

// followOverREST opens an event stream on each path and waits until each has begun.
func (f followed) followOverREST(t *testing.T, base string) (streams []*bufio.Reader) {
	for _, route := range eventRoutes {
		id := map[string]string{
			"channel_id": f.channel, "intent_id": f.intent, "agent_id": "ann", "subscription_id": f.subscription,
		}[route.parameter]
		request, err := http.NewRequestWithContext(as(t), http.MethodGet, base+route.before+id+route.after, nil)
		require.NoError(t, err)
		request.Header.Set("X-API-Key", DevelopmentKey)
		request.Header.Set("X-Agent-ID", "ann")
		response, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		require.Equal(t, http.StatusOK, response.StatusCode, route.before)
		streams = append(streams, bufio.NewReader(response.Body))
	}
	return streams
}

// A stop tells every stream to come back with its cursor, and no stream delays the stop.
func TestAStopDrainsStreamsOfEveryScope(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	server := start(t, testConfig(t))
	connection := dial(t, server.GRPC, insecure.NewCredentials())
	f := newFollowed(t, connection)
	ends := f.followOverGRPC(t, connection)
	acknowledged := f.acknowledgeOverGRPC(t, connection)
	streams := f.followOverREST(t, "http://"+server.HTTP)

	server.cancel()
	require.Equal(t, "SERVER_STOPPING", reasonOfError(t, acknowledged()))
	for _, end := range ends {
		err := end()
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, "SERVER_STOPPING", reasonOfError(t, err))
		require.Contains(t, status.Convert(err).Message(), "go on after the last position that you received")
		require.True(t, saysWhenToRetry(err))
	}
	for i, stream := range streams {
		text, err := io.ReadAll(stream)
		require.NoError(t, err, "it ends in order")
		_, last, _ := strings.Cut(string(text), "retry: 1000\nevent: error\ndata: ")
		require.Contains(t, last, `"reason":"SERVER_STOPPING"`, eventRoutes[i].before)
	}
	server.stop(t)
	require.NoError(t, connection.Close())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
