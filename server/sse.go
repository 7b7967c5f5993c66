package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging"
	"openintent/server/jsonform"
)

// messageEvent is the name of the events that carry messages.
const messageEvent = "channel_message"

// streamTimes are the clockwork of event streams. A zero field means the usual time.
type streamTimes struct {
	// keepAlive is how often a comment is sent, so that proxies and clients see that the stream lives; 15 s.
	keepAlive time.Duration
	// refuse is how long a refusal is held back, and end how long a stream stays open after its last event; 1 s each.
	// Existing clients connect again at once and without end, whatever the answer was.
	refuse, end time.Duration
	// write is how long a client may take over one event before it is cut off; 30 s.
	write time.Duration
}

func (t streamTimes) withDefaults() streamTimes {
	usual := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	usual(&t.keepAlive, 15*time.Second)
	usual(&t.refuse, time.Second)
	usual(&t.end, time.Second)
	usual(&t.write, 30*time.Second)
	return t
}

// eventStreams serve what MessageService streams as server-sent events.
//
// An event's id is the message's position; a client that comes back with Last-Event-ID goes on after it. A stream begins
// with the id after which it begins, without data: clients dispatch no event for it but keep the id, so that they can come
// back before the first message too. It ends with an event that says why: channel_closed, or error with the problem as its
// data.
type eventStreams struct {
	messages openintentv1.MessageServiceClient
	times    streamTimes
}

func newEventStreams(messages openintentv1.MessageServiceClient, times streamTimes) *eventStreams {
	return &eventStreams{messages: messages, times: times.withDefaults()}
}

// refuse answers with a problem, held back a little.
func (e *eventStreams) refuse(w http.ResponseWriter, r *http.Request, err error) {
	wait(r.Context(), e.times.refuse)
	writeProblem(w, toStatus(err))
}

// wait returns after a time, or at once when the context ends.
func wait(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// serve streams one channel until it is closed, the client leaves or access ends.
func (e *eventStreams) serve(w http.ResponseWriter, r *http.Request, channel string, md metadata.MD) {
	request, wanted, err := streamRequest(r, channel)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(r.Context(), md))
	defer cancel()
	stream, err := e.messages.Subscribe(ctx, request)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	response := &eventResponse{
		writer: w, control: http.NewResponseController(w), times: e.times, channel: request.GetChannelId(), wanted: wanted,
	}
	if err := response.run(ctx, receive(ctx, stream)); err != nil {
		e.refuse(w, r, err)
	}
}

// streamRequest reads what a client asks for; wanted tells whether it wants messages at all.
func streamRequest(r *http.Request, escapedChannel string) (_ *openintentv1.SubscribeRequest, wanted bool, _ error) {
	channel, err := url.PathUnescape(escapedChannel)
	if err != nil || textProblem(channel) != "" {
		return nil, false, fault.BadField("channel_id", "must be UTF-8 under its escapes.")
	}
	request := &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel}}
	query, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, false, err
	}
	if !restCallFrom(r.Context()).compatibility {
		known := func(key string) bool { return key == "event_types" || key == "last_event_id" }
		if err := refuseUnknownKeys(query, known); err != nil {
			return nil, false, err
		}
	}
	cursor, name := r.Header.Get("Last-Event-Id"), "Last-Event-ID"
	if cursor == "" {
		cursor, name = query.Get("last_event_id"), "last_event_id"
	}
	if cursor != "" {
		position, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || position < 0 {
			return nil, false, fault.BadField(name, "must be the id of an event of this stream.")
		}
		request.AfterPosition = &position
	}
	types := query.Get("event_types")
	return request, types == "" || slices.Contains(strings.Split(types, ","), messageEvent), nil
}

// arrival is what comes from the stream: its acceptance, a delivery, or its end.
type arrival struct {
	accepted bool
	// position is where an accepted stream begins; empty when the service does not say.
	position string
	delivery *openintentv1.SubscribeResponse
	err      error
}

// receive hands over what arrives until the stream has ended or the context ends.
func receive(ctx context.Context, stream grpc.ServerStreamingClient[openintentv1.SubscribeResponse]) <-chan arrival {
	arrivals := make(chan arrival)
	hand := func(a arrival) bool {
		select {
		case arrivals <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		// A nil header means that the stream ended without being accepted.
		if header, err := stream.Header(); err == nil && header != nil {
			position := strings.Join(header.Get(messaging.PositionHeader), "")
			if !hand(arrival{accepted: true, position: position}) {
				return
			}
		}
		for {
			delivery, err := stream.Recv()
			if !hand(arrival{delivery: delivery, err: err}) || err != nil {
				return
			}
		}
	}()
	return arrivals
}

// eventResponse is one event stream's response.
type eventResponse struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	times   streamTimes
	channel string
	wanted  bool
	begun   bool
}

// run writes events until the stream ends. It returns an error only if nothing was written: the refusal to answer with.
func (e *eventResponse) run(ctx context.Context, arrivals <-chan arrival) error {
	keepAlive := time.NewTicker(e.times.keepAlive)
	defer keepAlive.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-keepAlive.C:
			err = e.write(": ping\n\n")
		case arrived := <-arrivals:
			switch {
			case arrived.err != nil:
				return e.finish(ctx, arrived.err)
			case arrived.accepted:
				err = e.begin(arrived.position)
			case e.wanted:
				err = e.deliver(arrived.delivery)
			}
		}
		if err != nil {
			return nil // The client is gone, or too slow.
		}
	}
}

// write sends text at once, behind the headers if they are still to be sent. A client that takes no more in time is
// cut off: it comes back with its cursor, and nothing has to be kept for it.
func (e *eventResponse) write(text string) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(e.times.write)) // Where it is not supported, TCP's own limits hold.
	if !e.begun {
		e.begun = true
		header := e.writer.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no")
		e.writer.WriteHeader(http.StatusOK)
	}
	if _, err := io.WriteString(e.writer, text); err != nil {
		return err
	}
	return e.control.Flush()
}

// begin tells that the stream was accepted and where it begins.
func (e *eventResponse) begin(position string) error {
	if position == "" {
		return e.write("")
	}
	return e.write("id: " + position + "\n\n")
}

// deliver sends one message: the flat message object with its intent and its channel's name.
func (e *eventResponse) deliver(delivery *openintentv1.SubscribeResponse) error {
	data, err := jsonform.Append(nil, delivery.GetMessage())
	if err != nil {
		return err
	}
	data = append(data[:len(data)-1], `,"intent_id":`...)
	data = jsonform.AppendString(data, delivery.GetIntentId())
	data = append(data, `,"channel_name":`...)
	data = jsonform.AppendString(data, delivery.GetChannelName())
	if delivery.GetBackfill() {
		data = append(data, `,"backfill":true`...)
	}
	return e.write("id: " + strconv.FormatInt(delivery.GetPosition(), 10) + "\n" + event(messageEvent, append(data, '}')))
}

// finish sends why the stream ended and lets it end a little later.
func (e *eventResponse) finish(ctx context.Context, cause error) error {
	made := toStatus(cause)
	var last string
	switch {
	case ctx.Err() != nil:
		return nil
	case made.Code() == codes.FailedPrecondition:
		last = e.closed(made)
	case !e.begun && !errors.Is(cause, io.EOF):
		return cause
	case errors.Is(cause, io.EOF):
	case made.Code() == codes.Unavailable:
		last = "retry: 1000\n" + event("error", newProblem(made).body)
	default:
		last = event("error", newProblem(made).body)
	}
	if err := e.write(last); err == nil {
		wait(ctx, e.times.end)
	}
	return nil
}

func (e *eventResponse) closed(made *status.Status) string {
	o := objectWriter{out: []byte{'{'}}
	o.text("channel_id", e.channel)
	o.text("reason", strings.ToLower(newProblem(made).reason))
	return event("channel_closed", append(o.out, '}'))
}

// event writes an event with a JSON object as its data.
func event(name string, data []byte) string {
	return "event: " + name + "\ndata: " + string(asciiOnly(data)) + "\n\n"
}

// asciiOnly escapes what is not ASCII in JSON text. Existing clients split lines at characters such as U+0085 and
// U+2028, which JSON leaves as they are.
func asciiOnly(text []byte) []byte {
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x80 }) {
		return text
	}
	out := make([]byte, 0, 2*len(text))
	for _, c := range string(text) {
		switch {
		case c < 0x80:
			out = append(out, byte(c))
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, c)
		}
	}
	return out
}

func appendEscape(out []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
