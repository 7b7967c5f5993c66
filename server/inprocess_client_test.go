package server

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// The generated client gets the header, each response in turn and then the end, as over a wire.
func TestClientWithinTheProcessFollowsAStream(t *testing.T) {
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(r *openintentv1.SubscribeRequest, stream subscription) error {
		sent, _ := metadata.FromIncomingContext(stream.Context())
		if err := stream.SetHeader(metadata.Pairs("caller", sent.Get("k")[0])); err != nil {
			return err
		}
		for position := r.GetAfterPosition() + 1; position <= 3; position++ {
			if err := stream.Send(&openintentv1.SubscribeResponse{Position: position}); err != nil {
				return err
			}
		}
		return nil
	}})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "k", "v")
	stream, err := openintentv1.NewMessageServiceClient(c).Subscribe(ctx, &openintentv1.SubscribeRequest{AfterPosition: new(int64(1))})
	require.NoError(t, err)
	for range 2 { // asking again changes nothing
		header, err := stream.Header()
		require.NoError(t, err)
		require.Equal(t, []string{"v"}, header.Get("caller"))
	}
	for position := int64(2); position <= 3; position++ {
		response, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, position, response.GetPosition())
	}
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, stream.Trailer())
}

func TestClientWithinTheProcessLearnsOfARefusal(t *testing.T) {
	refusal := fault.New(fault.NotFound, "ABSENT", "Absent.")
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(*openintentv1.SubscribeRequest, subscription) error { return refusal }})
	client := openintentv1.NewMessageServiceClient(c)
	stream, err := client.Subscribe(t.Context(), &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	_, err = stream.Header()
	require.ErrorIs(t, err, refusal)
	_, err = stream.Recv()
	require.ErrorIs(t, err, refusal)
	_, err = client.SendMessages(t.Context())
	require.Equal(t, codes.Unimplemented, status.Code(err), "many requests")
}

// A service whose client reads no more waits for it, and ends with the client's context.
func TestClientWithinTheProcessHoldsItsServiceUp(t *testing.T) {
	ended := make(chan error, 1)
	handed := make(chan int64, 10)
	c, _ := newBareInProcess(&scriptedMessages{subscribe: func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		for position := int64(1); ; position++ {
			if err := stream.Send(&openintentv1.SubscribeResponse{Position: position}); err != nil {
				ended <- err
				return err
			}
			handed <- position
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := openintentv1.NewMessageServiceClient(c).Subscribe(ctx, &openintentv1.SubscribeRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	require.Len(t, handed, 1, "nothing waits in a buffer")
	_, err = stream.Recv()
	require.Equal(t, codes.Canceled, status.Code(err))
}
