package exchange_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/sdk/go/exchange"
)

// server stands in for a server. Sends as calls of their own are answered at once, and each request of an exchange by answer.
type server struct {
	openintentv1.UnimplementedMessageServiceServer
	openintentv1.UnimplementedExchangeServiceServer
	alone, streams, requests atomic.Int64
	cancelled                chan int64
	// hold, if it is there, keeps calls of their own until it is closed.
	hold   chan struct{}
	begin  func() error
	answer func(r *openintentv1.NumberedRequest) (*openintentv1.NumberedAnswer, error)
}

func (s *server) SendMessage(ctx context.Context, _ *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	s.alone.Add(1)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
		}
	}
	return &openintentv1.Message{Id: "alone"}, nil
}

func (s *server) Exchange(stream grpc.BidiStreamingServer[openintentv1.ExchangeRequest, openintentv1.ExchangeResponse]) error {
	s.streams.Add(1)
	if s.begin != nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	for {
		some, err := stream.Recv()
		if err != nil {
			return nil
		}
		for _, number := range some.GetCancelled() {
			s.cancelled <- number
		}
		for _, request := range some.GetRequests() {
			s.requests.Add(1)
			answer, err := s.answer(request)
			if err != nil {
				return err
			}
			if answer == nil {
				continue
			}
			answer.Number = request.GetNumber()
			if err := stream.Send(&openintentv1.ExchangeResponse{Answers: []*openintentv1.NumberedAnswer{answer}}); err != nil {
				return err
			}
		}
	}
}

func stored(*openintentv1.NumberedRequest) (*openintentv1.NumberedAnswer, error) {
	return &openintentv1.NumberedAnswer{Answer: &openintentv1.NumberedAnswer_Message{Message: &openintentv1.Message{Id: "together"}}}, nil
}

// connect serves and returns a client whose connection made of it what over says. The returned function ends everything.
func (s *server) connect(
	t *testing.T, over func(grpc.ClientConnInterface) *exchange.Connection,
) (openintentv1.MessageServiceClient, *exchange.Connection, func()) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	serving := grpc.NewServer()
	openintentv1.RegisterMessageServiceServer(serving, s)
	openintentv1.RegisterExchangeServiceServer(serving, s)
	go func() { _ = serving.Serve(listener) }()
	connection, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	made := over(connection)
	return openintentv1.NewMessageServiceClient(made), made, func() {
		made.Close()
		require.NoError(t, connection.Close())
		serving.Stop()
	}
}

func send() *openintentv1.SendMessageRequest {
	return &openintentv1.SendMessageRequest{ChannelId: "chan", Payload: &structpb.Struct{
		Fields: map[string]*structpb.Value{"text": structpb.NewStringValue("hello")},
	}}
}

// A client that calls now and then opens no stream. One that makes ten calls in a second, or two at a time, does.
func TestAStreamIsForBusyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: stored}
		messages, _, end := s.connect(t, exchange.Over)
		defer end()
		call := func() string {
			m, err := messages.SendMessage(t.Context(), send())
			require.NoError(t, err)
			return m.GetId()
		}
		for range 30 {
			require.Equal(t, "alone", call())
			time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the time of the bubble
		}
		require.Zero(t, s.streams.Load())
		time.Sleep(2 * time.Second) //nolint:forbidigo // as above
		for range 9 {
			require.Equal(t, "alone", call())
		}
		require.Equal(t, "together", call(), "the tenth in a second")
		m, err := messages.SendMessage(t.Context(), send())
		require.NoError(t, err)
		require.Equal(t, "hello", m.GetPayload().GetFields()["text"].GetStringValue(), "the client has what it sent")
		require.NotNil(t, m.GetMetadata())
		require.EqualValues(t, 1, s.streams.Load())

		time.Sleep(time.Minute) //nolint:forbidigo // as above
		require.Equal(t, "alone", call(), "the stream was idle and is closed")
	})
}

func TestCallsAtATimeOpenAStream(t *testing.T) {
	s := &server{answer: stored, hold: make(chan struct{})}
	messages, _, end := s.connect(t, exchange.Over)
	defer end()
	var first sync.WaitGroup
	first.Go(func() {
		_, err := messages.SendMessage(t.Context(), send())
		require.NoError(t, err)
	})
	require.Eventually(t, func() bool { return s.alone.Load() == 1 }, time.Minute, time.Millisecond)
	m, err := messages.SendMessage(t.Context(), send())
	require.NoError(t, err)
	require.Equal(t, "together", m.GetId())
	close(s.hold)
	first.Wait()
}

// Large requests, calls with metadata of their own and calls with options are made as calls of their own, and each identity has its stream.
func TestWhatIsMadeAlone(t *testing.T) {
	s := &server{answer: stored}
	messages, _, end := s.connect(t, exchange.Always)
	defer end()
	as := func(pairs ...string) context.Context { return metadata.AppendToOutgoingContext(t.Context(), pairs...) }
	id := func(ctx context.Context, request *openintentv1.SendMessageRequest, options ...grpc.CallOption) string {
		m, err := messages.SendMessage(ctx, request, options...)
		require.NoError(t, err)
		return m.GetId()
	}
	large := send()
	large.Payload.Fields["text"] = structpb.NewStringValue(strings.Repeat("x", 16<<10))
	require.Equal(t, "alone", id(as("x-api-key", "a"), large))
	require.Equal(t, "alone", id(as("x-api-key", "a", "idempotency-key", "b"), send()))
	require.Equal(t, "alone", id(as("x-api-key", "a"), send(), grpc.WaitForReady(true)))
	require.Zero(t, s.streams.Load())
	require.Equal(t, "together", id(as("x-api-key", "a", "x-agent-id", "alice"), send()))
	require.Equal(t, "together", id(as("x-api-key", "a", "x-agent-id", "alice"), send()))
	require.EqualValues(t, 1, s.streams.Load())
	require.Equal(t, "together", id(as("x-api-key", "a", "x-agent-id", "bob"), send()))
	require.EqualValues(t, 2, s.streams.Load())
}

// A server without exchanges, or one that has no room for a stream, gets calls of their own, and nobody notices.
func TestAServerThatTakesNoStream(t *testing.T) {
	s := &server{answer: stored, begin: func() error { return status.Error(codes.Unimplemented, "unknown method") }}
	messages, _, end := s.connect(t, exchange.Always)
	defer end()
	for range 3 {
		m, err := messages.SendMessage(t.Context(), send())
		require.NoError(t, err)
		require.Equal(t, "alone", m.GetId())
	}
	require.EqualValues(t, 1, s.streams.Load(), "it is asked once")
}

// Calls on a stream that is lost fail as calls do whose connection is lost, and the next calls go on.
func TestALostStreamFailsItsCalls(t *testing.T) {
	s := &server{}
	s.answer = func(r *openintentv1.NumberedRequest) (*openintentv1.NumberedAnswer, error) {
		if s.requests.Load() == 2 {
			return nil, status.Error(codes.Unavailable, "lost")
		}
		return stored(r)
	}
	messages, _, end := s.connect(t, exchange.Always)
	defer end()
	_, err := messages.SendMessage(t.Context(), send())
	require.NoError(t, err)
	_, err = messages.SendMessage(t.Context(), send())
	require.Equal(t, codes.Unavailable, status.Code(err))
	m, err := messages.SendMessage(t.Context(), send())
	require.NoError(t, err)
	require.Equal(t, "together", m.GetId())
	require.EqualValues(t, 2, s.streams.Load())
}

// The server hears of a call that is given up. A refused call gets the status that the server gave it.
func TestACallThatIsGivenUpAndOneThatIsRefused(t *testing.T) {
	s := &server{cancelled: make(chan int64, 1)}
	s.answer = func(r *openintentv1.NumberedRequest) (*openintentv1.NumberedAnswer, error) {
		if r.GetSend() == nil {
			return nil, nil
		}
		refusal := status.New(codes.FailedPrecondition, "closed").Proto()
		return &openintentv1.NumberedAnswer{Answer: &openintentv1.NumberedAnswer_Refusal{Refusal: refusal}}, nil
	}
	messages, connection, end := s.connect(t, exchange.Always)
	defer end()
	_, err := messages.SendMessage(t.Context(), send())
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := messages.Ask(ctx, &openintentv1.AskRequest{ChannelId: "chan", To: "bob"})
		failed <- err
	}()
	require.Eventually(t, func() bool { return s.requests.Load() == 2 }, time.Minute, time.Millisecond)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-failed))
	require.EqualValues(t, 2, <-s.cancelled)
	go func() {
		_, err := messages.Ask(t.Context(), &openintentv1.AskRequest{ChannelId: "chan", To: "bob"})
		failed <- err
	}()
	require.Eventually(t, func() bool { return s.requests.Load() == 3 }, time.Minute, time.Millisecond)
	connection.Close()
	require.Equal(t, codes.Canceled, status.Code(<-failed))
}

// An ask of the SDK wants to know whether it was sent at all. It goes on the stream like others; a call that wants more does not.
func TestACallLearnsWithWhomItHasSpoken(t *testing.T) {
	s := &server{answer: stored}
	messages, _, end := s.connect(t, exchange.Always)
	defer end()
	var met peer.Peer
	answer, err := messages.Ask(t.Context(), &openintentv1.AskRequest{ChannelId: "chan", To: "bob"}, grpc.Peer(&met))
	require.NoError(t, err)
	require.Equal(t, "together", answer.GetId())
	require.NotNil(t, met.Addr)

	var header metadata.MD
	alone, err := messages.SendMessage(t.Context(), send(), grpc.Header(&header))
	require.NoError(t, err)
	require.Equal(t, "alone", alone.GetId())
}

// A call without a connection names no peer: it has certainly changed nothing.
func TestACallThatFoundNoConnectionHasSpokenWithNobody(t *testing.T) {
	connection, err := grpc.NewClient("passthrough:///nobody", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("nobody listens") }))
	require.NoError(t, err)
	made := exchange.Always(connection)
	defer func() {
		made.Close()
		require.NoError(t, connection.Close())
	}()
	var met peer.Peer
	_, err = openintentv1.NewMessageServiceClient(made).SendMessage(t.Context(), send(), grpc.Peer(&met))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Nil(t, met.Addr)
}
