package messaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// pipe is a stream of messages under way, seen from both sides: the test is its client.
type pipe struct {
	grpc.ServerStream
	ctx context.Context
	// leave ends the context, for a reason of the server's or without one when the client leaves.
	leave    context.CancelCauseFunc
	requests chan pipeRequest
	answers  chan *wireAnswer
	ended    chan error
	// over is closed when the service is done with the stream; receiving ends then, and no earlier.
	over chan struct{}

	mutex            sync.Mutex
	asked, answering int // calls of Recv and of Send
	widest           int // the most messages that were unanswered at once
}

// pipeRequest is what the service receives next.
type pipeRequest struct {
	request *sendRequest
	err     error
	panics  bool
}

func (p *pipe) Context() context.Context { return p.ctx }

func (p *pipe) Recv() (*sendRequest, error) {
	p.mutex.Lock()
	p.asked++
	p.widest = max(p.widest, p.asked-p.answering)
	p.mutex.Unlock()
	select {
	case next, more := <-p.requests:
		if !more {
			return nil, io.EOF
		}
		if next.panics {
			panic("injected")
		}
		return next.request, next.err
	case <-p.over:
		return nil, context.Canceled
	}
}

// Send waits until the test receives, as a slow client makes it wait.
func (p *pipe) Send(answer *wireAnswer) error {
	p.mutex.Lock()
	p.answering++
	p.mutex.Unlock()
	if p.left() {
		return context.Canceled
	}
	p.answers <- answer
	return nil
}

// left reports whether the client has left.
func (p *pipe) left() bool { return errors.Is(context.Cause(p.ctx), context.Canceled) }

// handsOver sends messages and returns when the service has taken all of them up.
func (p *pipe) handsOver(t require.TestingT, requests ...*sendRequest) {
	<-p.sends(requests...)
	p.isAsked(t, len(requests)+1)
}

// isAsked waits until the service has asked for so many messages.
func (p *pipe) isAsked(t require.TestingT, times int) {
	eventually(t, func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return p.asked >= times
	}, "the service does not ask for more")
}

// pipe begins a stream of messages.
func (h *house) pipe(t *testing.T, agent string) *pipe { return h.pipeIn(t, as(agent)) }

func (h *house) pipeIn(t *testing.T, ctx context.Context) *pipe { //nolint:revive // t comes first, as in every helper of tests
	p := &pipe{
		requests: make(chan pipeRequest), answers: make(chan *wireAnswer), ended: make(chan error, 1), over: make(chan struct{}),
	}
	p.ctx, p.leave = context.WithCancelCause(ctx)
	t.Cleanup(func() { p.leave(nil) })
	go func() {
		err := h.messaging.SendMessages(p)
		close(p.over)
		p.ended <- err
	}()
	return p
}

// sends hands the service messages, and tells when it has them all.
func (p *pipe) sends(requests ...*sendRequest) (taken <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, request := range requests {
			select {
			case p.requests <- pipeRequest{request: request}:
			case <-p.over:
				return
			}
		}
	}()
	return done
}

func (p *pipe) answer(t require.TestingT) *wireAnswer {
	select {
	case answer := <-p.answers:
		return answer
	case err := <-p.ended:
		require.Fail(t, "the stream has ended", "%v", err)
	case <-time.After(patience):
		require.Fail(t, "no answer comes")
	}
	return nil
}

// ids receives as many answers, none of which may be a refusal.
func (p *pipe) ids(t require.TestingT, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		answer := p.answer(t)
		require.Nil(t, answer.GetRefusal())
		ids[i] = answer.GetAcknowledgement().GetMessageId()
		require.NotZero(t, answer.GetAcknowledgement().GetCreatedAt())
	}
	return ids
}

func (p *pipe) end(t require.TestingT) error {
	select {
	case err := <-p.ended:
		return err
	case answer := <-p.answers:
		require.Fail(t, "an answer came instead of the end", "%v", answer)
	case <-time.After(patience):
		require.Fail(t, "the stream does not end")
	}
	return nil
}

// numbered are messages on a channel whose texts are their numbers.
func numbered(channelID string, from, to int) (requests []*sendRequest) {
	for i := from; i <= to; i++ {
		requests = append(requests, &sendRequest{ChannelId: channelID, Payload: content(fmt.Sprint(i))})
	}
	return requests
}
