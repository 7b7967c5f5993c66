package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/messaging"
)

const (
	// mostRequests is how many requests, and how many numbers to cancel, one message of an exchange has at most.
	mostRequests = 64
	// mostUnderWay is how many requests of an exchange may be neither stored nor refused, and mostAsks how many asks may be under way.
	mostUnderWay = 256
	mostAsks     = 4_096
	// mostResting is how many goroutines without a call an exchange keeps for the next ones.
	mostResting = 64
	// answersWithin is how long an exchange that has to end waits for the answers of what it has taken up, and takenWithin how long a
	// client may take to read some of its answers.
	answersWithin = 5 * time.Second
	takenWithin   = 30 * time.Second
	// emptyEach is how often an exchange with asks sends an empty response.
	emptyEach = 20 * time.Second
)

var (
	errTooManyUnderWay = fault.New(fault.Quota, "TOO_MANY_UNDER_WAY",
		"This exchange has as many requests under way as one may have; try again in a moment, or make this one a call of its own.").
		After(time.Second)
	errAnswersNotTaken = fault.New(fault.Quota, "ANSWERS_NOT_TAKEN",
		"The client has taken none of its answers for 30 seconds; read them while you send, and send what was not answered again, "+
			"under the same idempotency keys.")
)

// exchangeServer serves exchanges: it runs each of their requests as the call that it means (exchange_calls.go), behind the interceptors.
type exchangeServer struct {
	openintentv1.UnimplementedExchangeServiceServer
	through *interceptors
	calls   *exchangedCalls
}

// newExchangeServer makes a server of exchanges that carries calls to the services of a connection within the process.
func newExchangeServer(through *interceptors, inside *inProcess) *exchangeServer {
	to := exchangedServices{
		openintentv1.UnimplementedMessageServiceServer{}, openintentv1.UnimplementedReactionServiceServer{},
		openintentv1.UnimplementedSubscriptionServiceServer{},
	}
	for _, service := range inside.services {
		switch implementation := service.implementation.(type) {
		case openintentv1.MessageServiceServer:
			to.messages = implementation
		case openintentv1.ReactionServiceServer:
			to.reactions = implementation
		case openintentv1.SubscriptionServiceServer:
			to.subscriptions = implementation
		}
	}
	return &exchangeServer{
		through: through, calls: newExchangedCalls(to),
	}
}

type exchangeStream = grpc.BidiStreamingServer[openintentv1.ExchangeRequest, openintentv1.ExchangeResponse]

// exchange is one stream of numbered requests. One goroutine takes them up, each runs on one of its own, and the stream's sends the answers.
type exchange struct {
	*exchangeServer
	stream exchangeStream
	// wire is the stream on its connection; nil in tests.
	wire *wireCall
	// ctx is that of the calls.
	ctx    context.Context
	unread *unreadAnswers
	// jobs hands calls to goroutines that have none, so that short calls need not grow a new stack each. resting counts these goroutines;
	// they end when over is closed.
	jobs    chan func()
	resting atomic.Int64
	over    chan struct{}
	// queued gets an element when the call that was taken up last has its place in the queue, or has ended.
	queued chan struct{}
	// last is the number of the last request; only the goroutine that takes up uses it.
	last int64

	mutex sync.Mutex
	// open are the requests without an answer. unstored counts those that are neither stored nor refused, and asks the asks.
	open           map[int64]context.CancelFunc
	unstored, asks int
	// closed is true once nothing more is taken up.
	closed bool
}

// Exchange carries the calls of one client.
func (s *exchangeServer) Exchange(stream exchangeStream) error {
	ctx, end := carrierOf(stream.Context()).calls(stream.Context())
	defer end()
	e := &exchange{
		exchangeServer: s, stream: stream, wire: wireCallOf(stream.Context()), ctx: ctx, unread: newUnreadAnswers(),
		jobs: make(chan func()), over: make(chan struct{}), queued: make(chan struct{}, 1), open: make(map[int64]context.CancelFunc),
	}
	defer e.close()
	taken := make(chan error, 1)
	go func() { taken <- e.takeUpAll() }() // it ends with the stream, soon after this function has returned
	return e.answerAll(taken)
}

// close takes up nothing more.
func (e *exchange) close() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if !e.closed {
		e.closed = true
		close(e.over)
	}
	e.unread.close()
}

// answerAll sends answers until the client has sent everything, or the stream has to end, and what was taken up is answered.
func (e *exchange) answerAll(taken <-chan error) (reason error) {
	ending, late := e.stream.Context().Done(), (<-chan time.Time)(nil)
	empty := time.NewTicker(emptyEach)
	defer empty.Stop()
	for ended := false; ; {
		select {
		case <-e.unread.some:
		case err := <-taken:
			if ended, taken = true, nil; err != nil {
				return err
			}
		case <-ending:
			e.close()
			ended, reason, ending, late = true, context.Cause(e.stream.Context()), nil, time.After(answersWithin)
		case <-late:
			return reason
		case <-e.ctx.Done():
			return context.Cause(e.ctx)
		case <-empty.C:
			if err := e.keep(); err != nil {
				return err
			}
		}
		if err := e.answerSome(); err != nil {
			return err
		}
		if ended && e.idle() {
			return reason
		}
	}
}

// idle reports whether everything that was taken up is answered.
func (e *exchange) idle() bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return len(e.open) == 0 && e.unread.empty()
}

// keep sends an empty response if asks wait.
func (e *exchange) keep() error {
	e.mutex.Lock()
	waiting := e.asks > 0
	e.mutex.Unlock()
	if !waiting {
		return nil
	}
	return e.send(&openintentv1.ExchangeResponse{})
}

// answerSome sends the answers that are there.
func (e *exchange) answerSome() error {
	for some := e.unread.take(); len(some) > 0; some = e.unread.take() {
		response := &openintentv1.ExchangeResponse{Answers: make([]*openintentv1.NumberedAnswer, len(some))}
		for i, one := range some {
			if one.later != nil {
				e.readAgain(one)
			}
			response.Answers[i] = one.answer
		}
		if err := e.send(response); err != nil {
			return err
		}
	}
	return nil
}

// readAgain reads an answer of which only the place was kept.
func (e *exchange) readAgain(one unreadAnswer) {
	again := &e.calls.get
	response, err := e.through.unary(e.ctx, one.later, again.info, again.handler)
	if err != nil {
		one.answer.Answer = refusalOf(err)
		return
	}
	again.show(one.answer, response)
}

// send sends a response, and ends the stream if its client does not take it.
func (e *exchange) send(response *openintentv1.ExchangeResponse) error {
	if e.wire == nil {
		return e.stream.Send(response)
	}
	stuck := time.AfterFunc(takenWithin, func() {
		e.wire.refusal.CompareAndSwap(nil, errAnswersNotTaken)
		e.wire.refuse(errAnswersNotTaken)
	})
	defer stuck.Stop()
	return e.stream.Send(response)
}

// takeUpAll takes up what the client sends. It returns nil when the client has sent everything, or nothing more is taken up, and
// otherwise why the client cannot be heard any more.
func (e *exchange) takeUpAll() (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	for {
		some, err := e.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(some.GetRequests()) > mostRequests:
			return fault.BadField("requests", "has %d elements; send at most %d together", len(some.GetRequests()), mostRequests)
		case len(some.GetCancelled()) > mostRequests:
			return fault.BadField("cancelled", "has %d elements; send at most %d together", len(some.GetCancelled()), mostRequests)
		}
		for _, request := range some.GetRequests() {
			if request.GetNumber() <= e.last {
				return fault.BadField("requests.number", "%d does not rise; the request before it has %d", request.GetNumber(), e.last)
			}
			e.last = request.GetNumber()
			if !e.unread.awaitRoom() || !e.takeUp(request) {
				return nil
			}
		}
		for _, number := range some.GetCancelled() {
			e.cancel(number)
		}
	}
}

// takeUp begins a request, and waits until it has its place in the order of those that are stored in order. It returns false when nothing
// more is taken up.
func (e *exchange) takeUp(request *openintentv1.NumberedRequest) bool {
	call, what, err := e.calls.find(request)
	ctx, end := context.WithCancel(e.ctx)
	if err == nil {
		err = e.begin(request.GetNumber(), call, end)
	}
	if err != nil {
		end()
		if errors.Is(err, errStopping) {
			return false
		}
		e.refuse(request.GetNumber(), err)
		return true
	}
	running := &runningCall{exchange: e, call: call, number: request.GetNumber()}
	e.run(func() {
		defer end()
		running.run(ctx, what)
	})
	if call.ordered {
		<-e.queued
	}
	return true
}

// begin counts a request, or refuses it.
func (e *exchange) begin(number int64, call *exchangedCall, end context.CancelFunc) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	switch {
	case e.closed:
		return errStopping
	case e.unstored == mostUnderWay, call.asks && e.asks == mostAsks:
		return errTooManyUnderWay
	}
	e.open[number] = end
	e.unstored++
	if call.asks {
		e.asks++
	}
	return nil
}

// run runs a call on a goroutine that has none, or on a new one.
func (e *exchange) run(job func()) {
	select {
	case e.jobs <- job:
	default:
		go e.work(job)
	}
}

// work runs a call, and further ones while it is one of the few goroutines that rest in between.
func (e *exchange) work(job func()) {
	for {
		job()
		if e.resting.Add(1) > mostResting {
			e.resting.Add(-1)
			return
		}
		select {
		case job = <-e.jobs:
			e.resting.Add(-1)
		case <-e.over:
			return
		}
	}
}

func (e *exchange) cancel(number int64) {
	e.mutex.Lock()
	end := e.open[number]
	e.mutex.Unlock()
	if end != nil {
		end()
	}
}

func (e *exchange) refuse(number int64, err error) {
	e.unread.add(&openintentv1.NumberedAnswer{Number: number, Answer: refusalOf(err)}, false)
}

// refusalOf shows a refusal; the interceptors have made a status of most of them.
func refusalOf(err error) *openintentv1.NumberedAnswer_Refusal {
	return &openintentv1.NumberedAnswer_Refusal{Refusal: toStatus(err).Proto()}
}

// runningCall is a request that is under way.
type runningCall struct {
	*exchange
	call           *exchangedCall
	number         int64
	queuedOnce     sync.Once
	unstoredNoMore sync.Once
}

// run makes the call that a request means, and answers.
func (r *runningCall) run(ctx context.Context, request proto.Message) {
	if r.call.ordered {
		ctx = messaging.WithSteps(ctx, &messaging.Steps{Queued: r.isQueued, Ended: r.isStored})
	}
	response, err := r.through.unary(ctx, request, r.call.info, r.call.handler)
	if r.call.ordered {
		r.isQueued()
	}
	r.isStored()
	if err != nil {
		r.refuse(r.number, err)
	} else {
		answer := &openintentv1.NumberedAnswer{Number: r.number}
		r.call.show(answer, response)
		r.unread.add(answer, r.call.asks)
	}
	r.end()
}

// isQueued lets the next request be taken up.
func (r *runningCall) isQueued() { r.queuedOnce.Do(func() { r.queued <- struct{}{} }) }

// isStored gives the request's place to others: it is stored or refused.
func (r *runningCall) isStored() {
	r.unstoredNoMore.Do(func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.unstored--
	})
}

// end notes that the request is answered.
func (r *runningCall) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.open, r.number)
	if r.call.asks {
		r.asks--
	}
	if len(r.open) == 0 { // the stream may end now
		select {
		case r.unread.some <- struct{}{}:
		default:
		}
	}
}
