package server

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
)

// newBareInProcess is a connection whose interceptors only count.
func newBareInProcess(service openintentv1.MessageServiceServer) (*inProcess, *int) {
	calls := new(int)
	c := newInProcess(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			*calls++
			return next(ctx, request)
		},
		func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			*calls++
			return next(service, stream)
		})
	openintentv1.RegisterMessageServiceServer(c, service)
	return c, calls
}

func TestInProcessUnaryCall(t *testing.T) {
	payload := &structpb.Struct{}
	service := &scriptedMessages{send: func(ctx context.Context, r *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		outgoing, _ := metadata.FromOutgoingContext(ctx)
		require.Empty(t, outgoing, "what the caller sent is not sent on by the service")
		require.NoError(t, grpc.SetHeader(ctx, metadata.Pairs("a", "1")))
		require.NoError(t, grpc.SendHeader(ctx, metadata.Pairs("a", "2")))
		require.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("b", "3")))
		method, _ := grpc.Method(ctx)
		return &openintentv1.Message{Id: r.GetChannelId(), Sender: md.Get("k")[0], ChannelId: method, Payload: r.GetPayload()}, nil
	}}
	c, calls := newBareInProcess(service)
	client := openintentv1.NewMessageServiceClient(c)
	var header, trailer metadata.MD
	response, err := client.SendMessage(metadata.AppendToOutgoingContext(t.Context(), "K", "v"),
		&openintentv1.SendMessageRequest{ChannelId: "c", Payload: payload}, grpc.Header(&header), grpc.Trailer(&trailer))
	require.NoError(t, err)
	require.Equal(t, "c", response.GetId())
	require.Equal(t, "v", response.GetSender())
	require.Equal(t, openintentv1.MessageService_SendMessage_FullMethodName, response.GetChannelId())
	require.Same(t, payload, response.GetPayload(), "the parts are handed over, not copied")
	require.Equal(t, []string{"1", "2"}, header.Get("a"))
	require.Equal(t, []string{"3"}, trailer.Get("b"))
	require.Equal(t, 1, *calls)
}

func TestInProcessErrorsArriveAsTheyAre(t *testing.T) {
	refusal := fault.New(fault.Conflict, "CLOSED", "Closed.")
	service := &scriptedMessages{send: func(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
		return nil, refusal
	}}
	c, _ := newBareInProcess(service)
	_, err := openintentv1.NewMessageServiceClient(c).SendMessage(t.Context(), &openintentv1.SendMessageRequest{})
	require.ErrorIs(t, err, refusal)
	_, err = openintentv1.NewChannelServiceClient(c).GetChannel(t.Context(), &openintentv1.GetChannelRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Error(t, c.Invoke(t.Context(), openintentv1.MessageService_SendMessage_FullMethodName, "no message", nil))
	require.Error(t, c.Invoke(t.Context(), openintentv1.MessageService_SendMessage_FullMethodName,
		&openintentv1.GetChannelRequest{}, &openintentv1.Message{}), "a request of another type")
}

func TestInProcessStream(t *testing.T) {
	service := &scriptedMessages{subscribe: func(r *openintentv1.SubscribeRequest, stream subscription) error {
		require.NoError(t, stream.SetHeader(metadata.Pairs("a", "1")))
		for position := r.GetAfterPosition() + 1; position <= 3; position++ {
			if err := stream.Send(&openintentv1.SubscribeResponse{Position: position}); err != nil {
				return err
			}
		}
		stream.SetTrailer(metadata.Pairs("b", "2"))
		return nil
	}}
	c, calls := newBareInProcess(service)
	stream, err := openintentv1.NewMessageServiceClient(c).Subscribe(t.Context(), &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	header, err := stream.Header()
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, header.Get("a"))
	for position := range int64(3) {
		response, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, position+1, response.GetPosition())
	}
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []string{"2"}, stream.Trailer().Get("b"))
	require.Equal(t, 1, *calls)
}

func TestInProcessStreamThatIsRefusedHasNoHeader(t *testing.T) {
	refusal := fault.New(fault.NotFound, "ABSENT", "Absent.")
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(*openintentv1.SubscribeRequest, subscription) error { return refusal }})
	stream, err := openintentv1.NewMessageServiceClient(c).Subscribe(t.Context(), &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	header, err := stream.Header()
	require.NoError(t, err)
	require.Nil(t, header)
	_, err = stream.Recv()
	require.ErrorIs(t, err, refusal)
}

func TestInProcessStreamEndsWithItsContext(t *testing.T) {
	ended := make(chan error, 1)
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		for {
			if err := stream.Send(&openintentv1.SubscribeResponse{}); err != nil {
				ended <- err
				return err
			}
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := openintentv1.NewMessageServiceClient(c).Subscribe(ctx, &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.Canceled, status.Code(err))
}
