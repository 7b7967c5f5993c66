package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/metadata"
)

// streamTimes are the times that govern event streams. A zero field means the usual time.
type streamTimes struct {
	// keepAlive is the interval between comments, which show proxies and clients that the stream lives; 15 s.
	keepAlive time.Duration
	// refuse is how long a refusal is held back, and end is how long a stream stays open after its last event; 1 s
	// each. Existing clients reconnect immediately and endlessly, whatever the answer was.
	refuse, end time.Duration
	// write is how long a client may take to read one event before it is cut off; 30 s.
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

// eventStreams serves the services' streams as server-sent events.
//
// An event's id is the cursor after it; a client that comes back with Last-Event-ID continues after it. A stream
// begins with its starting cursor as an id without data. Clients dispatch no event for it but keep the id, so they
// can come back even before the first event. A stream ends with an event that gives the reason: channel_closed, or
// error with the problem as its data.
//
// The service runs in the goroutine of the request and writes each event itself, so a waiting stream needs no extra
// buffer and no extra goroutine.
type eventStreams struct {
	connection *inProcess
	times      streamTimes
}

func newEventStreams(connection *inProcess, times streamTimes) *eventStreams {
	return &eventStreams{connection: connection, times: times.withDefaults()}
}

// refuse answers with a problem, after holding it back a little.
func (e *eventStreams) refuse(w http.ResponseWriter, r *http.Request, err error) {
	wait(r.Context(), e.times.refuse)
	writeProblem(w, toStatus(err))
}

// wait returns after this duration, or as soon as the context ends.
func wait(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// serve streams until the followed channel or intent ends, the client leaves or access ends.
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
