package messaging

import (
	"sync"

	"openintent/messaging/writing"
)

// These bound what a stream's client may have sent without having heard of it. The last message taken up may exceed the
// bytes.
const (
	maxUnanswered      = 256
	maxUnansweredBytes = 4 << 20
)

// inFlight is what a stream's client has sent and has not heard of, in the order of its requests. One goroutine takes
// messages up, and another one answers them. Closing it ends both.
type inFlight struct {
	// inOrder is closed with inFlight. It has room for everything that the bounds admit.
	inOrder chan *unanswered

	mutex sync.Mutex
	// room is signalled when there may be room, or when there will never be any more.
	room            sync.Cond
	messages, bytes int
	closed          bool
	ended           error
}

// unanswered is a message whose sender has not heard of it.
type unanswered struct {
	size int // in bytes
	done chan writing.Outcome
}

func newInFlight() *inFlight {
	f := &inFlight{inOrder: make(chan *unanswered, maxUnanswered)}
	f.room.L = &f.mutex
	return f
}

// awaitRoom waits until one more message may be taken up. It returns false when that will never be.
func (f *inFlight) awaitRoom() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for !f.closed && (f.messages == maxUnanswered || f.bytes >= maxUnansweredBytes) {
		f.room.Wait()
	}
	return !f.closed
}

// takeUp puts a message in line for its answer, after awaitRoom. It returns false when no more messages are taken up.
func (f *inFlight) takeUp(s *unanswered) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return false
	}
	f.messages++
	f.bytes += s.size
	f.inOrder <- s
	return true
}

// answered frees the room of a message.
func (f *inFlight) answered(s *unanswered) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.messages--
	f.bytes -= s.size
	f.room.Signal()
}

// close lets no more messages in. The reason is nil when the client has no more messages. The first reason stays.
func (f *inFlight) close(reason error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return
	}
	f.closed, f.ended = true, reason
	close(f.inOrder)
	f.room.Signal()
}

// reason returns why inFlight was closed.
func (f *inFlight) reason() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.ended
}
