package server

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// newBareInProcess returns a connection whose interceptors only count.
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
		require.Empty(t, outgoing, "the service does not pass on what the caller sent")
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

// recordingReader keeps what a stream sends. When most is above 0, it takes at most that many responses.
type recordingReader struct {
	header    metadata.MD
	positions []int64
	most      int
}

var errNobodyReads = errors.New("nobody reads any more")

func (r *recordingReader) accept(header metadata.MD) error {
	r.header = header
	return nil
}

func (r *recordingReader) take(response any) error {
	if r.most > 0 && len(r.positions) == r.most {
		return errNobodyReads
	}
	r.positions = append(r.positions, response.(*openintentv1.SubscribeResponse).GetPosition())
	return nil
}

const subscribe = openintentv1.MessageService_Subscribe_FullMethodName

func TestInProcessStream(t *testing.T) {
	service := &scriptedMessages{subscribe: func(r *openintentv1.SubscribeRequest, stream subscription) error {
		outgoing, _ := metadata.FromOutgoingContext(stream.Context())
		require.Empty(t, outgoing, "the service does not pass on what the caller sent")
		sent, _ := metadata.FromIncomingContext(stream.Context())
		require.NoError(t, stream.SetHeader(metadata.Pairs("a", sent.Get("k")[0])))
		method, _ := grpc.Method(stream.Context())
		require.NoError(t, grpc.SetHeader(stream.Context(), metadata.Pairs("method", method)))
		for position := r.GetAfterPosition() + 1; position <= 3; position++ {
			if err := stream.Send(&openintentv1.SubscribeResponse{Position: position}); err != nil {
				return err
			}
		}
		require.NoError(t, stream.SendHeader(metadata.Pairs("late", "1")))
		stream.SetTrailer(metadata.Pairs("b", "2"))
		return nil
	}}
	c, calls := newBareInProcess(service)
	reader := &recordingReader{}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "k", "v")
	require.NoError(t, c.Stream(ctx, subscribe, &openintentv1.SubscribeRequest{}, reader))
	require.Equal(t, metadata.Pairs("a", "v", "method", subscribe), reader.header, "it comes with the first response")
	require.Equal(t, []int64{1, 2, 3}, reader.positions)
	require.Equal(t, 1, *calls)
}

func TestInProcessStreamThatIsRefusedHasNoHeader(t *testing.T) {
	refusal := fault.New(fault.NotFound, "ABSENT", "Absent.")
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(*openintentv1.SubscribeRequest, subscription) error { return refusal }})
	reader := &recordingReader{}
	require.ErrorIs(t, c.Stream(t.Context(), subscribe, &openintentv1.SubscribeRequest{}, reader), refusal)
	require.Nil(t, reader.header)
	err := c.Stream(t.Context(), openintentv1.SubscriptionService_StreamDeliveries_FullMethodName, nil, reader)
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

func TestInProcessStreamEndsWithItsReaderAndItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		if stream.Context().Err() != nil {
			return stream.Send(&openintentv1.SubscribeResponse{})
		}
		for {
			if err := stream.Send(&openintentv1.SubscribeResponse{}); err != nil {
				return err
			}
		}
	}})
	reader := &recordingReader{most: 2}
	require.ErrorIs(t, c.Stream(ctx, subscribe, &openintentv1.SubscribeRequest{}, reader), errNobodyReads)
	require.Len(t, reader.positions, 2)
	cancel()
	reader = &recordingReader{}
	err := c.Stream(ctx, subscribe, &openintentv1.SubscribeRequest{}, reader)
	require.Equal(t, codes.Canceled, status.Code(err))
	require.Empty(t, reader.positions)
}
