package server

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	"openintent/internal/fault"
)

// wireCall is one call on a connection of the gRPC port, as its frames show it: from its headers until the server's
// last frame or the client's reset. The connection's mutex guards it.
type wireCall struct {
	connection *connection
	number     uint32
	began      time.Time

	request messageFollower
	// since is when the message that is arriving began; zero between messages.
	since time.Time
	// held is how many bytes the incomplete message takes, and counted is how many of them the account knows about.
	held, counted int64
	// padding is how many bytes of the current frame are padding; it is negative until their number has arrived.
	padding int
	// unsent is how many bytes of the answer are left, if the answer is large enough to be counted.
	unsent int64
	// answered is when the answer was handed over or when the client last read a part of it, whichever is later; zero
	// before.
	answered time.Time

	// account is the one whose memory the call uses, and stream ends the call; both are nil until the call has
	// reached its handler.
	account *account
	stream  statusWriter
	// one is true when the call has exactly one request.
	one bool

	// refusal is the reason for which the server ended the call; nil when it did not.
	refusal atomic.Pointer[fault.Fault]
}

// statusWriter is the part of gRPC's stream that ends it with a status, whatever its handler is waiting for.
type statusWriter interface {
	WriteStatus(made *status.Status) error
}

// carry takes one piece of a data frame; after is how many bytes of the frame follow it. A frame ends with its
// padding.
func (e *wireCall) carry(f frame, piece []byte, after int, now time.Time) {
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

// settle tells the account how many bytes the incomplete message takes, and reports whether everything is within
// bounds.
func (e *wireCall) settle() (within bool) {
	change := e.held - e.counted
	if change == 0 || e.account == nil {
		return true
	}
	e.counted = e.held
	return e.account.holdRequest(change) || change < 0
}

// release gives back everything that the call holds.
func (e *wireCall) release() {
	e.held = 0
	e.settle()
	e.took(e.unsent)
}

// took records that the client has read this many bytes of the answer.
func (e *wireCall) took(bytes int64) {
	bytes = min(bytes, e.unsent)
	if bytes == 0 {
		return
	}
	e.account.holdAnswer(-bytes)
	if e.unsent -= bytes; e.unsent == 0 {
		e.connection.counted.Add(-1)
	}
}

// slow reports whether the client takes too long to send a request that the server waits for.
func (e *wireCall) slow(now time.Time) bool {
	switch {
	case e.refusal.Load() != nil:
		return false
	case e.one && e.request.complete == 0:
		return now.Sub(e.began) > requestTimeout
	}
	return !e.since.IsZero() && now.Sub(e.since) > requestTimeout
}

// stuck reports whether only closing the connection helps: the client does not read an answer or a refusal, or the
// call's headers never end.
func (e *wireCall) stuck(now time.Time) bool {
	if e.stream == nil {
		return now.Sub(e.began) > requestTimeout
	}
	return !e.answered.IsZero() && now.Sub(e.answered) > answerTimeout
}

// refuse ends the call with a refusal. The handler, which is waiting for the request, returns immediately. The caller
// must not hold the connection's mutex.
func (e *wireCall) refuse(refusal *fault.Fault) { _ = e.stream.WriteStatus(toStatus(refusal)) }

// arrive records that the call has reached its handler, which waits for the request.
func (e *wireCall) arrive(account *account, stream statusWriter, one bool) {
	e.connection.mutex.Lock()
	within := true
	if e.connection.open[e.number] == e {
		e.account, e.stream, e.one = account, stream, one
		within = e.settle() // A part of the request may have arrived before.
	}
	e.connection.mutex.Unlock()
	if !within {
		e.connection.owner.relieve(account)
	}
}

// answer records that an answer of this size is ready for the client. It returns false when there is no memory left
// for it.
func (e *wireCall) answer(bytes int64) (within bool) {
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

// cause returns why the server ended the call or, if it did not, the error that its handler returned.
func (e *wireCall) cause(err error) error {
	if e == nil || err == nil {
		return err
	}
	if refusal := e.refusal.Load(); refusal != nil {
		return refusal
	}
	return err
}
