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

// window is what a stream's client has sent and has not heard of, in the order of its requests. One goroutine takes
// messages up, and another one answers them. Closing the window ends both.
type window struct {
	// inOrder is closed with the window. It has room for everything that the bounds admit.
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

func newWindow() *window {
	w := &window{inOrder: make(chan *unanswered, maxUnanswered)}
	w.room.L = &w.mutex
	return w
}

// awaitRoom waits until one more message may be taken up. It returns false when that will never be.
func (w *window) awaitRoom() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for !w.closed && (w.messages == maxUnanswered || w.bytes >= maxUnansweredBytes) {
		w.room.Wait()
	}
	return !w.closed
}

// takeUp puts a message in line for its answer, after awaitRoom. It returns false when no more messages are taken up.
func (w *window) takeUp(s *unanswered) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return false
	}
	w.messages++
	w.bytes += s.size
	w.inOrder <- s
	return true
}

// answered frees the room of a message.
func (w *window) answered(s *unanswered) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.messages--
	w.bytes -= s.size
	w.room.Signal()
}

// close lets no more messages in. The reason is nil when the client has no more messages. The first reason stays.
func (w *window) close(reason error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return
	}
	w.closed, w.ended = true, reason
	close(w.inOrder)
	w.room.Signal()
}

// reason returns why the window was closed.
func (w *window) reason() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ended
}
