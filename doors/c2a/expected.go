package c2a

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// mostExpected is of how many requests a connection watches the time. A harness is told of the time of all of them with the request.
const mostExpected = 256

// lateEnough is how long after its time a request is looked at. The server's clock decides whether the time is over.
const lateEnough = 100 * time.Millisecond

// expected are requests that were handed to the harness and whose time may run out.
type expected struct {
	mutex  sync.Mutex
	timers map[string]*time.Timer
	due    chan *openintentv1.Message
}

// handed notes a message that the harness gets, with the time that is left until it expires; nil stands for messages that do not.
func (e *expected) handed(m *openintentv1.Message, left *int64) {
	if left == nil || m.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
		return
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.timers[m.GetId()] != nil || len(e.timers) >= mostExpected {
		return
	}
	if e.timers == nil {
		e.timers = make(map[string]*time.Timer)
	}
	named := &openintentv1.Message{Id: m.GetId(), ChannelId: m.GetChannelId()}
	e.timers[m.GetId()] = time.AfterFunc(time.Duration(*left)*time.Millisecond+lateEnough, func() {
		e.mutex.Lock()
		delete(e.timers, named.GetId())
		e.mutex.Unlock()
		select {
		case e.due <- named:
		default: // the connection does not look any more
		}
	})
}

// forget stops all timers.
func (e *expected) forget() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, timer := range e.timers {
		timer.Stop()
	}
}

// cancelExpired tells the harness of requests that expired before anybody answered them, until the context ends.
func (c *connection) cancelExpired(ctx context.Context) {
	for {
		var named *openintentv1.Message
		select {
		case <-ctx.Done():
			return
		case named = <-c.expected.due:
		}
		m, err := c.messageAt(ctx, named)
		if err != nil || m.GetStatus() != openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED {
			continue
		}
		if err := c.cancel(ctx, m.GetId(), "Message expired before response"); err != nil {
			return
		}
	}
}

// messageAt reads a message whose place is known. It tries again while the contract cannot be reached, because nobody asks a second time.
func (c *connection) messageAt(ctx context.Context, named *openintentv1.Message) (*openintentv1.Message, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		m, err := c.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: named.GetChannelId(), MessageId: named.GetId()})
		refusal := doors.RefusalOf(err)
		if err == nil || refusal.Code != codes.Unavailable && refusal.Code != codes.ResourceExhausted {
			return m, err
		}
		if !sleep(ctx, max(pause, refusal.RetryAfter)) {
			return nil, context.Cause(ctx)
		}
	}
}
