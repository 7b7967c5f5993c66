package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/metadata"
)

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

// eventStreams serve what the services stream as server-sent events.
//
// An event's id is the cursor after it; a client that comes back with Last-Event-ID goes on after it. A stream begins
// with the id after which it begins, without data: clients dispatch no event for it but keep the id, so that they can come
// back before the first event too. It ends with an event that says why: channel_closed, or error with the problem as its
// data.
//
// The service runs in the goroutine of the request and writes each event itself, so a stream that waits keeps no buffer and
// no goroutine of its own.
type eventStreams struct {
	connection *inProcess
	times      streamTimes
}

func newEventStreams(connection *inProcess, times streamTimes) *eventStreams {
	return &eventStreams{connection: connection, times: times.withDefaults()}
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

// serve streams until what is followed ends, the client leaves or access ends.
func (e *eventStreams) serve(
	w http.ResponseWriter, r *http.Request, route *eventRoute, escapedID string, md metadata.MD,
) {
	id, err := route.unescape(escapedID)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	request, err := route.read(r, id)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(r.Context(), md))
	defer cancel()
	response := newEventResponse(w, route, id, restCallFrom(ctx).compatibility, e.times, cancel)
	cause := e.connection.Stream(ctx, route.method, request, response)
	if err := response.finish(r.Context(), cause); err != nil {
		e.refuse(w, r, err)
	}
}
