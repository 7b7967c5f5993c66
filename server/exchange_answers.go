package server

import (
	"sync"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// mostAnswers is how many answers one response of an exchange has at most, and mostAnswerBytes from how many bytes on it takes no more.
	mostAnswers     = 64
	mostAnswerBytes = 64 << 10
	// mostUnread is how many bytes of answers may wait to be read. An ask's answer that finds no room waits as the id of its message.
	mostUnread = 4 << 20
)

// unreadAnswer is an answer that waits to be sent. later reads it again; it is nil if the answer is here.
type unreadAnswer struct {
	answer *openintentv1.NumberedAnswer
	bytes  int
	later  *openintentv1.GetMessageRequest
}

// unreadAnswers are the answers of an exchange that its client has not taken. Calls add them, and the stream's goroutine sends them.
type unreadAnswers struct {
	mutex   sync.Mutex
	waiting []unreadAnswer
	bytes   int
	// room is signalled when there is room for further answers, or none is needed any more.
	room   sync.Cond
	closed bool
	// some has an element when answers wait.
	some chan struct{}
}

func newUnreadAnswers() *unreadAnswers {
	u := &unreadAnswers{some: make(chan struct{}, 1)}
	u.room.L = &u.mutex
	return u
}

// add adds an answer. If there is no room for it and it is a message that can be read again, only its place is kept.
func (u *unreadAnswers) add(answer *openintentv1.NumberedAnswer, readable bool) {
	one := unreadAnswer{answer: answer, bytes: proto.Size(answer)}
	u.mutex.Lock()
	if m := answer.GetMessage(); readable && u.bytes > 0 && u.bytes+one.bytes > mostUnread {
		one = unreadAnswer{
			answer: &openintentv1.NumberedAnswer{Number: answer.GetNumber()},
			later:  &openintentv1.GetMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()},
		}
		one.bytes = proto.Size(one.later)
	}
	u.waiting = append(u.waiting, one)
	u.bytes += one.bytes
	u.mutex.Unlock()
	select {
	case u.some <- struct{}{}:
	default:
	}
}

// take takes the answers of one response, without those that have to be read again; of these it takes one alone.
func (u *unreadAnswers) take() (some []unreadAnswer) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	bytes, n := 0, 0
	for n < len(u.waiting) && n < mostAnswers && bytes < mostAnswerBytes && (n == 0 || u.waiting[n].later == nil) {
		bytes += u.waiting[n].bytes
		if n++; u.waiting[n-1].later != nil {
			break
		}
	}
	some = append(some, u.waiting[:n]...)
	clear(u.waiting[:n])
	if u.waiting = u.waiting[n:]; len(u.waiting) == 0 {
		u.waiting = nil
	}
	u.bytes -= bytes
	u.room.Broadcast()
	return some
}

// awaitRoom waits until the client has taken enough of its answers. It returns false when nothing more is taken up.
func (u *unreadAnswers) awaitRoom() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for !u.closed && u.bytes > mostUnread {
		u.room.Wait()
	}
	return !u.closed
}

// close ends the waits for room.
func (u *unreadAnswers) close() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.closed = true
	u.room.Broadcast()
}

func (u *unreadAnswers) empty() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return len(u.waiting) == 0
}
