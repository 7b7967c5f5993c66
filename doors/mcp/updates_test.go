package mcp

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// patience bounds the waits of tests for what must happen.
const patience = time.Minute

// contract is a contract whose streams a test plays.
type contract struct {
	openintentv1.MessageServiceClient
	opened chan *played
}

// played is one stream. The test hands over its deliveries.
type played struct {
	grpc.ServerStreamingClient[openintentv1.SubscribeResponse]
	ctx        context.Context
	deliveries chan *openintentv1.SubscribeResponse
	refusal    chan error
}

func (c *contract) Subscribe(
	ctx context.Context, _ *openintentv1.SubscribeRequest, _ ...grpc.CallOption,
) (grpc.ServerStreamingClient[openintentv1.SubscribeResponse], error) {
	stream := &played{ctx: ctx, deliveries: make(chan *openintentv1.SubscribeResponse), refusal: make(chan error, 1)}
	c.opened <- stream
	return stream, nil
}

func (p *played) Header() (metadata.MD, error) {
	return metadata.Pairs("openintent-position", "1"), nil
}

func (p *played) Recv() (*openintentv1.SubscribeResponse, error) {
	select {
	case delivery := <-p.deliveries:
		return delivery, nil
	case err := <-p.refusal:
		return nil, err
	case <-p.ctx.Done():
		return nil, status.FromContextError(p.ctx.Err()).Err()
	}
}

// client is a client on a connection that lasts. It takes an update when the test asks for one.
type client struct {
	*sdk.ClientSession
	contract *contract
	updates  chan string
}

func connected(t *testing.T) *client {
	t.Helper()
	c := &client{contract: &contract{opened: make(chan *played, 100)}, updates: make(chan string)}
	ctx, cancel := context.WithCancel(t.Context())
	inside, outside := sdk.NewInMemoryTransports()
	served := make(chan error, 1)
	caller := &doors.Caller{Agent: "bob", Messages: c.contract}
	go func() { served <- New(Config{}).Serve(ctx, caller, inside) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, request *sdk.ResourceUpdatedNotificationRequest) {
			select {
			case c.updates <- request.Params.URI:
			case <-ctx.Done():
			}
		},
	}).Connect(ctx, outside, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	c.ClientSession = session
	t.Cleanup(func() {
		cancel()
		_ = session.Close()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) { // it has ended with all that it began
			t.Errorf("the session ended with %v", err)
		}
	})
	return c
}

// hears subscribes to a channel and returns its stream.
func (c *client) hears(t *testing.T, channel string) *played {
	t.Helper()
	require.NoError(t, c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "openintent://channels/" + channel}))
	return <-c.contract.opened
}

func (c *client) updated(t *testing.T) string {
	t.Helper()
	select {
	case address := <-c.updates:
		return address
	case <-time.After(patience):
		require.FailNow(t, "no update came")
	}
	return ""
}

// A client that does not read holds up nobody, and is told once of many changes.
func TestASlowClientGetsOneUpdateForManyMessages(t *testing.T) {
	c := connected(t)
	stream, other := c.hears(t, "a"), c.hears(t, "b")
	const many = 10_000
	for i := range many {
		stream.deliveries <- &openintentv1.SubscribeResponse{Position: int64(i)} // the stream is always read
	}
	other.deliveries <- &openintentv1.SubscribeResponse{}
	other.deliveries <- &openintentv1.SubscribeResponse{CaughtUp: true}
	told := map[string]int{}
	for told["openintent://channels/b"] == 0 {
		told[c.updated(t)]++
	}
	require.Less(t, told["openintent://channels/a"], many/10, "one update says as much as many")
	require.Equal(t, 1, told["openintent://channels/b"])
}

// A lost stream is opened again, and the client hears that it may have missed something. A refused one is not.
func TestALostStreamIsOpenedAgain(t *testing.T) {
	c := connected(t)
	stream := c.hears(t, "a")
	stream.refusal <- status.Error(codes.Unavailable, "The server stops.")
	again := <-c.contract.opened
	require.Equal(t, "openintent://channels/a", c.updated(t))
	again.refusal <- status.Error(codes.PermissionDenied, "No.")
	require.Equal(t, "openintent://channels/a", c.updated(t))
	<-again.ctx.Done()
	require.Empty(t, c.contract.opened)
}

// What was followed ends with the wish for it.
func TestUnsubscribingEndsTheStream(t *testing.T) {
	c := connected(t)
	for i := range 3 {
		stream := c.hears(t, "a")
		require.NoError(t, stream.ctx.Err(), strconv.Itoa(i))
		require.NoError(t, c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "openintent://channels/a"}))
		require.Error(t, stream.ctx.Err())
	}
	require.NoError(t, c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "openintent://channels/unheard"}))
}
