package messaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/messaging/message"
)

type wireAnswer = openintentv1.SendMessagesResponse

// refusalForm is a short form of a refusal: its kind and its reason.
func refusalForm(err error) *status.Status {
	f := fault.From(err)
	return &status.Status{Code: int32(f.Kind), Message: f.Reason}
}

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

// left tells whether the client has left.
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
func (h *house) pipe(t *testing.T, agent string) *pipe {
	p := &pipe{
		requests: make(chan pipeRequest), answers: make(chan *wireAnswer), ended: make(chan error, 1), over: make(chan struct{}),
	}
	p.ctx, p.leave = context.WithCancelCause(as(agent))
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

func TestPipelinedMessagesAreAnsweredAndStoredInTheirOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		ids := []string{
			h.create(t, &createRequest{IntentId: intentID, Name: "one"}),
			h.create(t, &createRequest{IntentId: intentID, Name: "two", Options: &optionsInput{Audit: ptr(true)}}), h.open(t),
		}
		const each = 150
		var all []*sendRequest
		for i := range each {
			for _, id := range ids {
				all = append(all, numbered(id, i, i)...)
			}
		}
		p := h.pipe(t, "alice")
		taken := p.sends(all...)
		acknowledged := p.ids(t, len(all))
		<-taken
		close(p.requests)
		require.NoError(t, p.end(t))
		for i, id := range ids {
			listed := h.list(t, "bob", &listRequest{ChannelId: id})
			require.Len(t, listed, each)
			for n, m := range listed {
				require.Equal(t, fmt.Sprint(n), textOf(m))
				require.Equal(t, acknowledged[n*len(ids)+i], m.GetId(), "the answers are in the order of the messages")
			}
		}
	})
}

// What SendMessage would refuse is refused in its place, in the same words, and the stream goes on.
func TestPipelinedRefusalsEndNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, closed, private := h.open(t), h.open(t), h.explicit(t, "bob")
		h.closeChannel(t, closed)
		invalid := fault.BadField("payload", "must be given")
		refused := []*sendRequest{
			{ChannelId: "chan_unknown"},
			{ChannelId: closed, Payload: content("late")},
			{ChannelId: private, Payload: content("not a member")},
			{ChannelId: id, Sender: ptr("bob")},
			{ChannelId: id, MessageType: ptr(request)},
			{ChannelId: id, To: ptr("alice")},
			{ChannelId: id, MessageType: ptr(response), CorrelationId: ptr(message.NewID())},
			{ChannelId: id, ExpiresAt: h.in(-time.Hour)},
			{ChannelId: id, Payload: content(strings.Repeat("x", defaultMaxPayloadBytes))},
		}
		p := h.pipe(t, "alice")
		for i, r := range refused {
			_, err := h.messaging.SendMessage(as("alice"), r)
			require.Error(t, err)
			p.sends(r, numbered(id, i, i)[0])
			require.Equal(t, refusalForm(err).GetMessage(), p.answer(t).GetRefusal().GetMessage())
			p.ids(t, 1)
		}
		p.requests <- pipeRequest{err: invalid}
		require.Equal(t, "INVALID_FIELD", p.answer(t).GetRefusal().GetMessage())
		close(p.requests)
		require.NoError(t, p.end(t))
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id}), len(refused))
	})
}

func TestPipelinedRepeatsUnderAKeyAreTheSameMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(keyed(id, "a", "x"), keyed(id, "b", "y"), keyed(id, "a", "x"), keyed(id, "b", "other"))
		first := p.ids(t, 3)
		require.Equal(t, first[0], first[2], "within a stream, within a batch or not")
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", p.answer(t).GetRefusal().GetMessage())
		close(p.requests)
		require.NoError(t, p.end(t))

		p = h.pipe(t, "alice")
		p.sends(keyed(id, "a", "x"), keyed(id, "b", "y"), keyed(id, "c", "z"))
		again := p.ids(t, 3)
		require.Equal(t, first[:2], again[:2], "across streams")
		require.Equal(t, again[2], h.send(t, "alice", keyed(id, "c", "z")).GetId(), "and calls")
		require.Equal(t, []string{"x", "y", "z"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// While nothing is committed, the whole window gathers, and no more than it.
func TestPipelinedMessagesWaitForRoomInTheWindow(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		const all = 3 * maxUnanswered
		p := h.pipe(t, "alice")
		taken := p.sends(numbered(id, 1, all)...)
		p.isAsked(t, maxUnanswered)
		release()
		p.ids(t, all)
		<-taken
		require.Equal(t, maxUnanswered, p.widest)
		require.Equal(t, int64(all), h.channel(t, id).GetMessageCount())
	})
}

// A client that does not hear its answers is not listened to for ever.
func TestPipelinedAnswersThatNobodyHearsFillTheWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		large := &sendRequest{ChannelId: id, Payload: content(strings.Repeat("x", 200<<10))}
		fits := maxUnansweredBytes/(200<<10) + 1
		p := h.pipe(t, "alice")
		p.sends(slices.Repeat([]*sendRequest{large}, 3*fits)...)
		eventually(t, func() bool { return h.channel(t, id).GetMessageCount() == int64(fits) }, "the window's bytes are not used")
		p.ids(t, 3*fits)
		require.LessOrEqual(t, p.widest, fits)
	})
}

func TestStoppingAnswersWhatAPipelineTookUp(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		p := h.pipe(t, "alice")
		p.handsOver(t, numbered(id, 1, 10)...)
		reason := fault.New(fault.Unavailable, "STOPPED", "The test is over.")
		p.leave(reason)
		release()
		p.ids(t, 10)
		require.ErrorIs(t, p.end(t), reason)
	})
}

// What a stopping writer does not take any more is refused message by message.
func TestAStoppingWriterRefusesPipelinedMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(numbered(id, 1, 1)...)
		p.ids(t, 1)
		h.messaging.Stop()
		p.sends(numbered(id, 2, 2)...)
		require.Equal(t, "SERVER_STOPPING", p.answer(t).GetRefusal().GetMessage())
	})
}

func TestWhatALostClientPipelinedIsStored(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		p := h.pipe(t, "alice")
		p.handsOver(t, numbered(id, 1, 10)...)
		p.leave(nil)
		release()
		require.ErrorIs(t, p.end(t), context.Canceled)
		eventually(t, func() bool { return h.channel(t, id).GetMessageCount() == 10 }, "the messages are not stored")
	})
}

func TestAFailedReceiptEndsAPipeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(numbered(id, 1, 1)...)
		p.ids(t, 1)
		p.requests <- pipeRequest{err: errInjected}
		require.ErrorIs(t, p.end(t), errInjected)

		p = h.pipe(t, "alice")
		p.requests <- pipeRequest{panics: true}
		require.ErrorContains(t, p.end(t), "panic")
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	})
}

// A commit that fails refuses its batch's messages, and those after it are stored.
func TestFailedCommitsRefusePipelinedMessages(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		f.set(times(1), nil)
		p.sends(numbered(id, 1, 1)...)
		require.Equal(t, "INTERNAL", p.answer(t).GetRefusal().GetMessage())
		p.sends(numbered(id, 2, 2)...)
		p.ids(t, 1)
		require.Equal(t, []string{"2"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// Intents that another replica holds are passed over, and what comes for them meanwhile does not overtake.
func TestPipelinedMessagesKeepTheirOrderWhenPassedOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	free, busy, alsoBusy := h.open(t), h.open(t), h.open(t)
	var all []*sendRequest
	const each = 200
	for i := range each {
		for _, id := range []string{free, busy, alsoBusy} {
			all = append(all, numbered(id, i, i)...)
		}
	}
	p := h.pipe(t, "alice")
	nothing := func(*database.Tx, *intents.Head) error { return nil }
	letGo := holdHead(t, other, h.key(t, busy), nothing)
	defer letGo()
	p.sends(all...)
	eventually(t, func() bool { return h.channel(t, free).GetMessageCount() > 0 }, "what is free is not stored")
	alsoLetGo := holdHead(t, other, h.key(t, alsoBusy), nothing)
	defer alsoLetGo()
	letGo()
	p.ids(t, 2)
	alsoLetGo()
	p.ids(t, len(all)-2)
	for _, id := range []string{free, busy, alsoBusy} {
		for n, m := range h.list(t, "bob", &listRequest{ChannelId: id}) {
			require.Equal(t, fmt.Sprint(n), textOf(m))
		}
		require.Equal(t, int64(each), h.channel(t, id).GetMessageCount())
	}
}
