package server

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	"openintent/fault"
)

// exchange is one call on a connection of the gRPC port as its frames show it: from its headers until the server's last frame
// or the client's reset. The connection's mutex guards it.
type exchange struct {
	connection *connection
	number     uint32
	began      time.Time

	request messageFollower
	// since is when the message that is arriving began to; zero between messages.
	since time.Time
	// held is what the incomplete message takes, in bytes, and counted is how much of that the account knows.
	held, counted int64
	// padding is how much of the frame that passes is no data; negative while its length is still to come.
	padding int
	// unsent is what is left of the answer, in bytes, if it is large enough to be counted.
	unsent int64
	// answered is when the answer was given or, if later, when the client took a part of it; zero before.
	answered time.Time

	// account is whose memory is used, and stream ends the call; both are nil until the call has reached its handler.
	account *account
	stream  statusWriter
	// one is true when the call has one request.
	one bool

	// refusal is why the call was ended from here; nil when it was not.
	refusal atomic.Pointer[fault.Fault]
}

// statusWriter is the side of gRPC's stream that ends it with a status, whatever its handler waits for.
type statusWriter interface {
	WriteStatus(made *status.Status) error
}

// carry takes a piece of a frame of data, of which so many bytes come after the piece. The frame ends with its padding.
func (e *exchange) carry(f frame, piece []byte, after int, now time.Time) {
	if e.padding < 0 {
		e.padding, piece = int(piece[0]), piece[1:]
	}
	piece = piece[:max(0, len(piece)-max(0, e.padding-after))]
	if ended := e.request.follow(piece); ended {
		e.held, e.since = 0, time.Time{}
		if e.request.within() {
			e.held = f.bufferBytes()
		}
	}
	if e.since.IsZero() && e.request.within() {
		e.since = now
	}
}

// settle tells the account what the incomplete message takes. It tells whether all is within bounds.
func (e *exchange) settle() (within bool) {
	change := e.held - e.counted
	if change == 0 || e.account == nil {
		return true
	}
	e.counted = e.held
	return e.account.holdRequest(change) || change < 0
}

// release gives back all that the call holds.
func (e *exchange) release() {
	e.held = 0
	e.settle()
	e.took(e.unsent)
}

// took tells that the client has taken so much of the answer.
func (e *exchange) took(bytes int64) {
	bytes = min(bytes, e.unsent)
	if bytes == 0 {
		return
	}
	e.account.holdAnswer(-bytes)
	if e.unsent -= bytes; e.unsent == 0 {
		e.connection.counted.Add(-1)
	}
}

// slow tells whether the client takes too long over a request for which the server waits.
func (e *exchange) slow(now time.Time) bool {
	switch {
	case e.refusal.Load() != nil:
		return false
	case e.one && e.request.complete == 0:
		return now.Sub(e.began) > requestTimeout
	}
	return !e.since.IsZero() && now.Sub(e.since) > requestTimeout
}

// stuck tells whether nothing but the end of the connection helps: the client does not take an answer, or a refusal, or the
// call's headers have not ended.
func (e *exchange) stuck(now time.Time) bool {
	if e.stream == nil {
		return now.Sub(e.began) > requestTimeout
	}
	return !e.answered.IsZero() && now.Sub(e.answered) > answerTimeout
}

// refuse ends the call with a refusal. The handler, which waits for the request, returns at once. The connection's mutex must
// not be held.
func (e *exchange) refuse(refusal *fault.Fault) { _ = e.stream.WriteStatus(toStatus(refusal)) }

// reach tells that the call has reached its handler, which waits for the request.
func (e *exchange) reach(account *account, stream statusWriter, one bool) {
	e.connection.mutex.Lock()
	within := true
	if e.connection.open[e.number] == e {
		e.account, e.stream, e.one = account, stream, one
		within = e.settle() // A part of the request may have come before.
	}
	e.connection.mutex.Unlock()
	if !within {
		e.connection.owner.relieve(account)
	}
}

// answer tells that an answer of so many bytes is there for the client to take. It gives false when there is no memory left
// for it.
func (e *exchange) answer(bytes int64) (within bool) {
	e.connection.mutex.Lock()
	defer e.connection.mutex.Unlock()
	if e.connection.open[e.number] != e {
		return true
	}
	e.answered = time.Now()
	if bytes < countedAnswer {
		return true
	}
	if e.account.admit() != nil {
		return false
	}
	e.unsent = bytes
	e.account.holdAnswer(bytes)
	e.connection.counted.Add(1)
	return true
}

// cause gives why the call was ended from here, or the error with which its handler returned.
func (e *exchange) cause(err error) error {
	if e == nil || err == nil {
		return err
	}
	if refusal := e.refusal.Load(); refusal != nil {
		return refusal
	}
	return err
}
