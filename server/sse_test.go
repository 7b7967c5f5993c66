package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/messaging"
)

type subscription = grpc.ServerStreamingServer[openintentv1.SubscribeResponse]

func newLogTo(_ *testing.T, to io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(to, nil)) }

// sseEvent is one event as a client reads it.
type sseEvent struct{ id, name, data, retry string }

// sseStream is an event stream that a test reads.
type sseStream struct {
	response *http.Response
	lines    *bufio.Scanner
	pings    int
	cancel   context.CancelFunc
}

// subscribe opens a stream, with the operator's key, and requires that it is accepted. Headers are given as pairs.
func (r *rest) subscribe(t *testing.T, path string, headers ...string) *sseStream {
	s := r.open(t, path, headers...)
	require.Equal(t, 200, s.response.StatusCode)
	return s
}

// open asks for a stream, which may be refused.
func (r *rest) open(t *testing.T, path string, headers ...string) *sseStream {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	require.NoError(t, err)
	request.Header.Set("X-API-Key", "open")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &sseStream{response: response, lines: bufio.NewScanner(response.Body), cancel: cancel}
}

// holding accepts a stream and keeps it open until its context ends.
func holding[Request, Response any](_ *Request, stream grpc.ServerStreamingServer[Response]) error {
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// next reads the next event; ok is false at the end of the stream.
func (s *sseStream) next(t *testing.T) (event sseEvent, ok bool) {
	for s.lines.Scan() {
		line := s.lines.Text()
		for _, c := range line {
			require.Less(t, c, rune(0x80), "every line is ASCII")
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			event.id = value
		case "event":
			event.name = value
		case "data":
			event.data = value
		case "retry":
			event.retry = value
		case "":
			if line == ": ping" {
				s.pings++
			} else if event != (sseEvent{}) {
				return event, true
			}
		}
	}
	return event, false
}

func TestAStreamCarriesMessages(t *testing.T) {
	r := newREST(t)
	payload, err := structpb.NewStruct(map[string]any{"x": "é\u0085\u2028😀<"})
	require.NoError(t, err)
	after := make(chan int64, 2)
	goOn := make(chan struct{})
	r.service.subscribe = func(request *openintentv1.SubscribeRequest, stream subscription) error {
		after <- request.GetAfterPosition()
		require.Equal(t, "c d", request.GetChannelId())
		if err := stream.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		<-goOn
		for _, delivery := range []*openintentv1.SubscribeResponse{
			{Position: 7, IntentId: "i", ChannelName: "náme", Message: &openintentv1.Message{Id: "m1", Payload: payload}},
			{Position: 7, IntentId: "i", ChannelName: "n", Message: &openintentv1.Message{Id: "m0"}, Backfill: true},
		} {
			if err := stream.Send(delivery); err != nil {
				return err
			}
		}
		return fault.New(fault.Conflict, "CHANNEL_CLOSED", "The channel is closed.")
	}
	s := r.subscribe(t, "/api/v1/subscribe/channels/c%20d", "Last-Event-ID", "5")
	require.EqualValues(t, 5, <-after)
	require.Equal(t, "text/event-stream", s.response.Header.Get("Content-Type"))
	require.Equal(t, "no-store", s.response.Header.Get("Cache-Control"))
	require.Equal(t, "no", s.response.Header.Get("X-Accel-Buffering"))
	close(goOn)

	event, _ := s.next(t)
	require.Equal(t, "7", event.id)
	require.Equal(t, "channel_message", event.name)
	require.Contains(t, event.data, `"payload":{"x":"\u00e9\u0085\u2028\ud83d\ude00<"}`)
	var data map[string]any
	require.NoError(t, json.Unmarshal([]byte(event.data), &data))
	require.Equal(t, "m1", data["id"])
	require.Equal(t, "i", data["intent_id"])
	require.Equal(t, "náme", data["channel_name"])
	require.NotContains(t, data, "backfill")

	event, _ = s.next(t)
	require.Equal(t, "7", event.id, "a backfilled delivery does not move the cursor")
	require.Contains(t, event.data, `"channel_name":"n","backfill":true}`)

	event, _ = s.next(t)
	require.Equal(t, sseEvent{name: "channel_closed", data: `{"channel_id":"c d","reason":"channel_closed"}`}, event)
	_, more := s.next(t)
	require.False(t, more)
}

func TestAStreamGoesOnWhereItsClientWas(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = func(request *openintentv1.SubscribeRequest, stream subscription) error {
		for position := request.GetAfterPosition() + 1; ; position++ {
			delivery := &openintentv1.SubscribeResponse{Position: position, Message: &openintentv1.Message{}}
			if err := stream.Send(delivery); err != nil {
				return err
			}
		}
	}
	s := r.subscribe(t, "/v1/subscribe/channels/c")
	first, _ := s.next(t)
	require.Equal(t, "1", first.id)
	second, _ := s.next(t)
	s.cancel()
	again := r.subscribe(t, "/v1/subscribe/channels/c", "Last-Event-ID", second.id)
	third, _ := again.next(t)
	require.Equal(t, "3", third.id)
	byQuery := r.subscribe(t, "/v1/subscribe/channels/c?last_event_id=41")
	answer, _ := byQuery.next(t)
	require.Equal(t, "42", answer.id)
}

func TestAStreamTellsWhereItBeginsBeforeAnyMessage(t *testing.T) {
	r := newREST(t)
	cursors := make(chan *int64, 2)
	r.service.subscribe = func(request *openintentv1.SubscribeRequest, stream subscription) error {
		cursors <- request.AfterPosition //nolint:protogetter // unset differs from 0
		if err := stream.SendHeader(metadata.Pairs(messaging.PositionHeader, "41")); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	s := r.subscribe(t, "/v1/subscribe/channels/c")
	require.Nil(t, <-cursors)
	require.True(t, s.lines.Scan())
	require.Equal(t, "id: 41", s.lines.Text(), "the first line, while the stream is quiet")
	require.True(t, s.lines.Scan())
	require.Empty(t, s.lines.Text(), "an id without data is no event")
	s.cancel()
	r.subscribe(t, "/v1/subscribe/channels/c", "Last-Event-ID", "41")
	require.EqualValues(t, 41, *<-cursors)
}

func TestAStreamEndsWithItsClient(t *testing.T) {
	r := newREST(t)
	ended := make(chan error, 1)
	r.service.subscribe = func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		err := stream.SendHeader(nil)
		<-stream.Context().Done()
		ended <- stream.Context().Err()
		return err
	}
	s := r.subscribe(t, "/v1/subscribe/channels/c")
	s.cancel()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience):
		t.Fatal("the service was not told that the client left")
	}
}

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	r := newRESTThatPings(t, 5*time.Millisecond)
	release := make(chan struct{})
	r.service.subscribe = func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		select { // There is no header and no message: the stream begins with its first ping.
		case <-release:
		case <-time.After(patience): // it was not kept alive
		}
		return stream.Send(&openintentv1.SubscribeResponse{Position: 1, Message: &openintentv1.Message{}})
	}
	s := r.subscribe(t, "/v1/subscribe/channels/c")
	for _, line := range []string{": ping", "", ": ping"} { // again and again
		require.True(t, s.lines.Scan())
		require.Equal(t, line, s.lines.Text())
	}
	close(release)
	event, _ := s.next(t)
	require.Equal(t, "1", event.id)
	_, more := s.next(t)
	require.False(t, more, "a service that ends well ends the stream")
}

func TestAClosedChannelIsToldAsAnEventAtOnce(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = func(*openintentv1.SubscribeRequest, subscription) error {
		return fault.New(fault.Conflict, "CHANNEL_CLOSED", "The channel is closed.")
	}
	event, _ := r.subscribe(t, "/v1/subscribe/channels/c").next(t)
	require.Equal(t, "channel_closed", event.name)
}

func TestAStreamThatLosesAccessSaysSo(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		if err := stream.SendHeader(nil); err != nil {
			return err
		}
		return fault.New(fault.Denied, "FORBIDDEN", "You may not read this channel any more.")
	}
	event, _ := r.subscribe(t, "/v1/subscribe/channels/c").next(t)
	require.Equal(t, "error", event.name)
	require.Contains(t, event.data, `"reason":"FORBIDDEN"`)
	require.Contains(t, event.data, `"status":403`)
	require.Empty(t, event.retry)
}

func TestAStoppingServerTellsStreamsToComeBack(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = holding[openintentv1.SubscribeRequest, openintentv1.SubscribeResponse]
	r.durable.stream = holding[openintentv1.StreamDeliveriesRequest, openintentv1.SubscriptionDelivery]
	var streams []*sseStream
	for i, route := range eventRoutes {
		streams = append(streams, r.subscribe(t, route.before+"x"+route.after, "X-Agent-ID", "agent-"+strconv.Itoa(i)))
	}
	r.stop()
	for _, s := range streams {
		event, _ := s.next(t)
		require.Equal(t, "error", event.name)
		require.Equal(t, "1000", event.retry)
		require.Contains(t, event.data, `"code":"UNAVAILABLE"`)
		require.Contains(t, event.data, `"reason":"SERVER_STOPPING"`)
		require.Contains(t, event.data, "go on after the last position that you received")
		_, more := s.next(t)
		require.False(t, more)
	}
	for _, route := range eventRoutes {
		got := r.call(t, "GET", route.before+"x"+route.after, "")
		require.Equal(t, "SERVER_STOPPING", problemOf(t, got, 503)["reason"], "a new stream is refused")
		require.Equal(t, "1", got.header.Get("Retry-After"))
	}
}

func TestStreamRefusalsAreProblems(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = func(*openintentv1.SubscribeRequest, subscription) error {
		return fault.New(fault.NotFound, "CHANNEL_NOT_FOUND", "There is no such channel.")
	}
	problem := problemOf(t, r.call(t, "GET", "/v1/subscribe/channels/c", ""), 404)
	require.Equal(t, "CHANNEL_NOT_FOUND", problem["reason"])
	for _, cursor := range []string{"x", "-1", "1.0", "9223372036854775808"} {
		problem = problemOf(t, r.call(t, "GET", "/v1/subscribe/channels/c", "", "Last-Event-ID", cursor), 400)
		require.Contains(t, badFields(problem), "Last-Event-ID")
	}
	problemOf(t, r.call(t, "GET", "/v1/subscribe/channels/%00", ""), 400)
}

func TestARefusalIsHeldBackButNotForAClientThatLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/subscribe/channels/c", nil)
	recorder := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		newEventStreams(nil, streamTimes{refuse: time.Hour}).refuse(recorder, request, errRouteUnknown)
		close(done)
	}()
	select {
	case <-done:
		t.Fatal("the refusal was not held back")
	default:
	}
	cancel()
	<-done

	usual := streamTimes{}.withDefaults()
	require.Equal(t, time.Second, usual.refuse)
	require.Equal(t, time.Second, usual.end)
	require.Equal(t, 15*time.Second, usual.keepAlive)
}
