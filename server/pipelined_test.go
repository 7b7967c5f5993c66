package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

type sendingStream = grpc.BidiStreamingClient[openintentv1.SendMessageRequest, openintentv1.SendMessagesResponse]

// sending begins a stream of messages.
func sending(ctx context.Context, t *testing.T, connection *grpc.ClientConn) sendingStream {
	stream, err := openintentv1.NewMessageServiceClient(connection).SendMessages(ctx)
	require.NoError(t, err)
	return stream
}

// next sends a message and returns its answer.
func next(t *testing.T, stream sendingStream, request *openintentv1.SendMessageRequest) *openintentv1.SendMessagesResponse {
	require.NoError(t, stream.Send(request))
	answer, err := stream.Recv()
	require.NoError(t, err)
	return answer
}

// SendMessages refuses a message exactly as SendMessage would, to the last detail, and the next message is stored.
func TestMessagesOfAStreamAreRefusedAsIfAlone(t *testing.T) {
	server := start(t, testConfig(t))
	connection := dial(t, server.GRPC, insecure.NewCredentials())
	defer func() { require.NoError(t, connection.Close()) }()
	on := newFollowed(t, connection).channel
	ctx := as(t, "x-api-key", DevelopmentKey, "x-agent-id", "ann")
	stream := sending(ctx, t, connection)
	for name, change := range map[string]func(*openintentv1.SendMessageRequest){
		"fields that break their rules": func(r *openintentv1.SendMessageRequest) {
			r.Payload, r.IdempotencyKey = nil, proto.String("")
		},
		"a field that is wrong here": func(r *openintentv1.SendMessageRequest) { r.To = proto.String("ann") },
		"an unknown channel":         func(r *openintentv1.SendMessageRequest) { r.ChannelId = "chan_1" },
		"another sender":             func(r *openintentv1.SendMessageRequest) { r.Sender = proto.String("bob") },
	} {
		t.Run(name, func(t *testing.T) {
			request := aMessage()
			request.ChannelId = on
			change(request)
			_, err := openintentv1.NewMessageServiceClient(connection).SendMessage(ctx, request)
			require.Error(t, err)
			refusal := next(t, stream, request).GetRefusal()
			require.True(t, proto.Equal(status.Convert(err).Proto(), refusal), "%v\n%v", err, refusal)

			request = aMessage()
			request.ChannelId = on
			require.NotEmpty(t, next(t, stream, request).GetAcknowledgement().GetMessageId())
		})
	}
	require.NoError(t, stream.CloseSend())
	_, err := stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	server.stop(t)
}

// A header applies to the call. It is not a field of each of the call's many messages.
func TestAnIdempotencyKeyInTheHeaderIsNotOfEachMessage(t *testing.T) {
	server := start(t, testConfig(t))
	connection := dial(t, server.GRPC, insecure.NewCredentials())
	defer func() { require.NoError(t, connection.Close()) }()
	request := aMessage()
	request.ChannelId = newFollowed(t, connection).channel
	stream := sending(as(t, "x-api-key", DevelopmentKey, "x-agent-id", "ann", "idempotency-key", "k"), t, connection)
	one, other := next(t, stream, request), next(t, stream, request)
	require.NotNil(t, one.GetAcknowledgement())
	require.NotEqual(t, one.GetAcknowledgement().GetMessageId(), other.GetAcknowledgement().GetMessageId())
	server.stop(t)
}

// When the server stops, it answers every message that it stored, and tells the client to continue elsewhere.
func TestAStopEndsStreamsOfMessages(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cfg := testConfig(t)
	server := start(t, cfg)
	connection := dial(t, server.GRPC, insecure.NewCredentials())
	on := newFollowed(t, connection).channel
	ctx := as(t, "x-api-key", DevelopmentKey)
	busy, idle := sending(ctx, t, connection), sending(ctx, t, connection)
	request := aMessage()
	request.ChannelId = on
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for busy.Send(request) == nil { // ends when the stream has ended
		}
	}()
	acknowledged := 0
	receive := func() (*openintentv1.SendMessagesResponse, error) {
		answer, err := busy.Recv()
		if answer.GetAcknowledgement() != nil {
			acknowledged++
		}
		return answer, err
	}
	for acknowledged < 100 {
		_, err := receive()
		require.NoError(t, err)
	}
	server.cancel()
	for _, err := range []error{drained(receive), drained(idle.Recv)} {
		require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
		require.Equal(t, "SERVER_STOPPING", reasonOfError(t, err))
		require.Contains(t, status.Convert(err).Message(), "send what was not answered again")
		require.True(t, saysWhenToRetry(err))
	}
	<-sent
	server.stop(t)
	require.NoError(t, connection.Close())

	server = start(t, cfg)
	connection = dial(t, server.GRPC, insecure.NewCredentials())
	channel, err := openintentv1.NewChannelServiceClient(connection).GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: on})
	require.NoError(t, err)
	require.EqualValues(t, acknowledged, channel.GetMessageCount())
	server.stop(t)
	require.NoError(t, connection.Close())
}

func TestStreamsOfMessagesAreCounted(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.holdStreams()
	for range maxTestStreams {
		_, err := f.follow(t, false, "open")
		require.NoError(t, err)
	}
	stream, err := f.messages.SendMessages(as(t, "x-api-key", "open"))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, "TOO_MANY_STREAMS", reasonOfError(t, err))
}

// The server logs failures that no call's end reports; it does not log a client's own mistakes.
func TestFailuresToStoreAMessageOfAStreamAreLogged(t *testing.T) {
	var log lockedBuffer
	form := refusalForm(slog.New(slog.NewJSONHandler(&log, nil)))
	require.EqualValues(t, codes.FailedPrecondition, form(fault.New(fault.Conflict, "CHANNEL_CLOSED", "It is closed.")).GetCode())
	require.Empty(t, log.String())
	failure := form(errors.New("secret table"))
	require.EqualValues(t, codes.Internal, failure.GetCode())
	require.NotContains(t, failure.GetMessage(), "secret")
	require.Contains(t, log.String(), "secret table")
	require.Contains(t, log.String(), `"reason":"INTERNAL"`)
}
