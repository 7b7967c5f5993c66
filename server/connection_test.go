package server

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// rawCall begins a call to SendMessage frame by frame, over its own connection, and sends this much of its request.
func rawCall(t *testing.T, f *face, body []byte, headers ...string) (*http2.Framer, net.Conn) {
	t.Helper()
	connection, err := f.dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = connection.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	framer := http2.NewFramer(connection, connection)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(t, framer.WriteSettings())
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	headers = append([]string{
		":method", "POST", ":scheme", "http", ":path", openintentv1.MessageService_SendMessage_FullMethodName,
		":authority", "localhost", "content-type", "application/grpc",
	}, headers...)
	for i := 0; i < len(headers); i += 2 {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}))
	}
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}))
	require.NoError(t, framer.WriteData(1, false, body))
	return framer, connection
}

// statusOfCall reads until the call's status arrives.
func statusOfCall(t *testing.T, framer *http2.Framer) (code, message string) {
	t.Helper()
	for {
		read, err := framer.ReadFrame()
		require.NoError(t, err)
		headers, ok := read.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		for _, field := range headers.Fields {
			switch field.Name {
			case "grpc-status":
				code = field.Value
			case "grpc-message":
				message = field.Value
			}
		}
		if code != "" {
			return code, message
		}
	}
}

// unfinished is the beginning of a request of 1,000 bytes.
var unfinished = []byte{0, 0, 0, 3, 232, 1, 2, 3}

func TestACallWithoutAKeyIsRefusedBeforeItsRequest(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	framer, _ := rawCall(t, f, unfinished)
	code, message := statusOfCall(t, framer)
	require.Equal(t, "16", code)
	require.Equal(t, errKeyMissing.Message, message)
	require.Contains(t, f.log.String(), `"reason":"API_KEY_MISSING"`)
}

func TestARequestThatDoesNotEndIsRefused(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	framer, _ := rawCall(t, f, unfinished, "x-api-key", "open")
	account := f.through.memory.account(keyID(t, f, "open"))
	require.Eventually(t, func() bool { return account.requests.Load() > 0 }, patience, time.Millisecond)
	f.connections.sweep(time.Now().Add(requestTimeout / 2))
	require.Positive(t, account.requests.Load())
	f.connections.sweep(time.Now().Add(requestTimeout + time.Second))
	code, message := statusOfCall(t, framer)
	require.Equal(t, "4", code)
	require.Equal(t, errRequestSlow.Message, message)
	require.Zero(t, account.requests.Load())
	require.Eventually(t, func() bool {
		return bytes.Contains([]byte(f.log.String()), []byte(`"reason":"REQUEST_TOO_SLOW"`))
	}, patience, time.Millisecond, "the log gives the same reason")
}

func TestRequestsOverTheShareAreRefused(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.through.memory.share, f.through.memory.all = 2000, 3000
	first, _ := rawCall(t, f, append([]byte{0, 0, 0, 8, 0}, make([]byte, 1000)...), "x-api-key", "open")
	account := f.through.memory.account(keyID(t, f, "open"))
	require.Eventually(t, func() bool { return account.requests.Load() > 1000 }, patience, time.Millisecond)
	rawCall(t, f, append([]byte{0, 0, 0, 8, 0}, make([]byte, 950)...), "x-api-key", "open")
	code, message := statusOfCall(t, first)
	require.Equal(t, "8", code, "the larger request is refused to make room")
	require.Equal(t, errRequestsHeld.Message, message)
	require.LessOrEqual(t, account.requests.Load(), int64(2000))
}

func TestConnectionsOfStrangersAreClosed(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	stranger, connection := rawCall(t, f, unfinished)
	statusOfCall(t, stranger)
	_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), &openintentv1.SendMessageRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	f.connections.sweep(time.Now().Add(strangerTimeout + time.Second))
	for err = nil; err == nil; {
		_, err = stranger.ReadFrame()
	}
	require.ErrorContains(t, err, "EOF")
	require.Len(t, f.connections.list(), 1, "a connection that has shown a key stays")
	_ = connection
}

func TestPublicStreamsAreBounded(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	ctx, cancel := context.WithCancel(as(t))
	for range mostPublicStreamsOfOne {
		stream, err := f.health.Watch(ctx, &healthv1.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
	}
	stream, err := f.health.Watch(as(t), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, "TOO_MANY_PUBLIC_STREAMS", reasonOfError(t, err))
	cancel()
	require.Eventually(t, func() bool {
		f.through.public.mutex.Lock()
		defer f.through.public.mutex.Unlock()
		return f.through.public.all == 0
	}, patience, time.Millisecond)
}

// The server decompresses nothing, so nobody can send a small message that grows large.
func TestCompressedMessagesAreRefused(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	framer, _ := rawCall(t, f, []byte{1, 0, 0, 0, 1, 0}, "x-api-key", "open", "grpc-encoding", "gzip")
	code, _ := statusOfCall(t, framer)
	require.Equal(t, "12", code)

	// The packages that send traces register a compressor, which the server then knows.
	require.NotNil(t, encoding.GetCompressor(gzip.Name))
	_, err := f.messages.SendMessage(as(t, "x-api-key", "open"), aMessage(), grpc.UseCompressor(gzip.Name))
	require.Equal(t, codes.Unimplemented, status.Code(err))
	stream, err := f.messages.Subscribe(as(t, "x-api-key", "open"), &openintentv1.SubscribeRequest{}, grpc.UseCompressor(gzip.Name))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.Unimplemented, status.Code(err))
	_, err = f.health.Check(as(t), &healthv1.HealthCheckRequest{}, grpc.UseCompressor(gzip.Name))
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

func keyID(t *testing.T, f *face, key string) string {
	t.Helper()
	found := f.through.keys.find(key)
	require.NotNil(t, found)
	return found.id
}
