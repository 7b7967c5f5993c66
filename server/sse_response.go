package server

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging"
)

// eventResponse is the response of one event stream: what the service streams, written as events, with a comment in
// between now and then.
type eventResponse struct {
	route *eventRoute
	id    string
	form  eventForm
	times streamTimes
	// cancel ends the service when the client takes no more.
	cancel context.CancelFunc

	// The mutex lets the service's goroutine and the keep-alive's timer write in turn.
	mutex     sync.Mutex
	writer    http.ResponseWriter
	control   *http.ResponseController
	keepAlive *time.Timer
	begun     bool
	ended     bool
}

var _ streamReader = (*eventResponse)(nil)

func newEventResponse(
	w http.ResponseWriter, route *eventRoute, id string, compatibility bool, times streamTimes, cancel context.CancelFunc,
) *eventResponse {
	e := &eventResponse{
		route:   route,
		id:      id,
		form:    eventForm{clientNames: route.clientNames, compatibility: compatibility},
		times:   times,
		cancel:  cancel,
		writer:  w,
		control: http.NewResponseController(w),
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.keepAlive = time.AfterFunc(times.keepAlive, e.ping)
	return e
}

// ping sends the keep-alive's comment, unless the stream has ended, and sets the timer again.
func (e *eventResponse) ping() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.ended || e.write(": ping\n\n") != nil {
		return
	}
	e.keepAlive.Reset(e.times.keepAlive)
}

// accept records that the stream was accepted and where it begins.
func (e *eventResponse) accept(header metadata.MD) error {
	text := ""
	if position := strings.Join(header.Get(messaging.PositionHeader), ""); position != "" {
		text = "id: " + position + "\n\n"
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.write(text)
}

// take sends one delivery as an event. The mark that the stream has caught up is a comment and not an event, because
// clients would have to know such an event. The comment also moves the client's cursor to the stream's position.
func (e *eventResponse) take(response any) error {
	var text string
	var err error
	switch delivery := response.(type) {
	case *openintentv1.SubscribeResponse:
		if delivery.GetProbeId() != "" {
			text = probeEvent(delivery.GetProbeId())
			break
		}
		if delivery.GetCaughtUp() {
			text = ": caught up\n" + idLine(delivery.GetPosition()) + "\n"
			break
		}
		text, err = e.form.delivery(delivery.GetPosition(), delivery)
	case *openintentv1.SubscriptionDelivery:
		if delivery.GetProbeId() != "" {
			text = probeEvent(delivery.GetProbeId())
			break
		}
		text, err = e.form.delivery(delivery.GetNumber(), delivery)
	default:
		err = errNoMessage
	}
	if err != nil {
		return err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.write(text)
}

func idLine(id int64) string { return "id: " + strconv.FormatInt(id, 10) + "\n" }

// write sends text immediately, after the headers if those are not sent yet. A client that does not read in time is
// cut off: it comes back with its cursor, so the server need not keep anything for it.
func (e *eventResponse) write(text string) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(e.times.write)) // Where this is not supported, TCP's own limits apply.
	if !e.begun {
		e.begun = true
		header := e.writer.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no")
		e.writer.WriteHeader(http.StatusOK)
	}
	_, err := io.WriteString(e.writer, text)
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		e.cancel()
	}
	return err
}

// finish sends the reason why the stream ended and lets it end a little later. If nothing was written yet, it returns
// the refusal to answer with.
func (e *eventResponse) finish(ctx context.Context, cause error) error {
	refused, ended := e.end(ctx, cause)
	if refused {
		return cause
	}
	if ended {
		wait(ctx, e.times.end)
	}
	return nil
}

// end writes the last event; nothing is written after it. ended reports that the client got it.
func (e *eventResponse) end(ctx context.Context, cause error) (refused, ended bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.ended = true
	e.keepAlive.Stop()
	made := toStatus(cause)
	var last string
	switch {
	case ctx.Err() != nil:
		return false, false
	case cause == nil:
	case reasonOf(made) == channelClosed:
		last = e.closed()
	case !e.begun:
		return true, false
	case made.Code() == codes.Unavailable:
		last = "retry: 1000\n" + event(errorEvent, newProblem(made).body)
	default:
		last = event(errorEvent, newProblem(made).body)
	}
	return false, e.write(last) == nil
}

// channelClosed is the reason with which a stream of a closed channel ends. This end is not a failure, and the client
// must not come back.
const channelClosed = "CHANNEL_CLOSED"

func (e *eventResponse) closed() string {
	o := objectWriter{out: []byte{'{'}}
	o.text(e.route.parameter, e.id)
	o.text("reason", strings.ToLower(channelClosed))
	return event(closedEvent, append(o.out, '}'))
}
