package messaging

import (
	"sync"

	"openintent/messaging/writing"
)

// Bounds of what a stream's client may have sent and not heard of. The last message taken up may exceed the bytes.
const (
	maxUnanswered      = 256
	maxUnansweredBytes = 4 << 20
)

// window is what a stream's client has sent and not heard of, in the order of its requests. One goroutine takes messages up,
// another answers them; whoever closes the window ends both.
type window struct {
	// inOrder is closed with the window. It has room for whatever the bounds admit.
	inOrder chan *unanswered

	mutex sync.Mutex
	// room is signalled when there may be some, or when there will never be any more.
	room            sync.Cond
	messages, bytes int
	closed          bool
	ended           error
}

// unanswered is a message that its sender has not heard of.
type unanswered struct {
	size int // in bytes
	done chan writing.Outcome
}

func newWindow() *window {
	w := &window{inOrder: make(chan *unanswered, maxUnanswered)}
	w.room.L = &w.mutex
	return w
}

// awaitRoom waits until one more message may be taken up; false means never.
func (w *window) awaitRoom() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for !w.closed && (w.messages == maxUnanswered || w.bytes >= maxUnansweredBytes) {
		w.room.Wait()
	}
	return !w.closed
}

// takeUp puts a message in line for its answer, after awaitRoom; false means that none is taken up any more.
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

// answered makes the room of a message free.
func (w *window) answered(s *unanswered) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.messages--
	w.bytes -= s.size
	w.room.Signal()
}

// close lets no more messages in, for a reason that is nil when there are no more. The first reason stays.
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

// reason gives why the window was closed.
func (w *window) reason() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ended
}
