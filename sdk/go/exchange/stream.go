package exchange

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// mostTogether is how many requests one message of a stream has at most.
	mostTogether = 64
	// mostUnanswered is how many requests that are no asks may be without an answer; further ones are made on their own.
	mostUnanswered = 250
)

// stream is one exchange. One goroutine sends what calls have added, and another one gives them their answers.
type stream struct {
	connection *Connection
	lane       *lane
	began      time.Time
	cancel     context.CancelFunc

	mutex sync.Mutex
	// last is the number of the last request, waiting are the calls without an answer, and asks counts the asks among them.
	last    int64
	waiting map[int64]chan *openintentv1.NumberedAnswer
	asks    int
	// out and cancelled are what has to be sent.
	out       []*openintentv1.NumberedRequest
	cancelled []int64
	// peer is the other end of the stream's connection; nil until there is one.
	peer *peer.Peer
	// heard is true once an answer has come. A stream that ends before may end so each time, because of something in between.
	heard bool
	// used is when the last call was added. retired is true once no more calls are added.
	used    time.Time
	retired bool
	// some has an element when there is something to send, or to end.
	some chan struct{}
	// over is closed when the stream has ended, with err.
	over chan struct{}
	err  error
}

// open begins a stream. It does not wait for the server; the lane's connection holds its mutex.
func (c *Connection) open(l *lane, now time.Time) *stream {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), l.identity...))
	s := &stream{
		connection: c, lane: l, began: now, cancel: cancel, used: now,
		waiting: make(map[int64]chan *openintentv1.NumberedAnswer), some: make(chan struct{}, 1), over: make(chan struct{}),
	}
	go s.run(ctx)
	return s
}

// run opens the stream and sends requests until the stream ends.
func (s *stream) run(ctx context.Context) {
	defer s.cancel()
	calls, err := openintentv1.NewExchangeServiceClient(s.connection.under).Exchange(ctx)
	if err != nil {
		s.end(err)
		return
	}
	s.mutex.Lock()
	s.peer, _ = peer.FromContext(calls.Context())
	s.mutex.Unlock()
	go s.receive(calls)
	look := time.NewTicker(idleFor / 3)
	defer look.Stop()
	for {
		select {
		case <-s.some:
		case <-look.C:
		case <-s.over:
			return
		}
		if !s.sendAll(calls) {
			return
		}
	}
}

// sendAll sends what there is. It returns false when nothing more will be sent.
func (s *stream) sendAll(calls grpc.BidiStreamingClient[openintentv1.ExchangeRequest, openintentv1.ExchangeResponse]) bool {
	for {
		request, last := s.next()
		if request != nil && calls.Send(request) != nil {
			return false // receive learns why
		}
		if last {
			_ = calls.CloseSend()
			return false
		}
		if request == nil {
			return true
		}
	}
}

// next takes what one message sends. last is true when the stream is to end: it is retired or idle, and everything is answered.
func (s *stream) next() (request *openintentv1.ExchangeRequest, last bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	some, cancelled := min(len(s.out), mostTogether), min(len(s.cancelled), mostTogether)
	if some+cancelled > 0 {
		request = &openintentv1.ExchangeRequest{Requests: s.out[:some:some], Cancelled: s.cancelled[:cancelled:cancelled]}
		s.out, s.cancelled = s.out[some:], s.cancelled[cancelled:]
		return request, false
	}
	if len(s.waiting) == 0 && (s.retired || time.Since(s.used) > idleFor) {
		s.retired = true
		return nil, true
	}
	return nil, false
}

// retires reports whether the stream takes no more calls.
func (s *stream) retires(now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.retired && now.Sub(s.began) > oldAfter {
		s.retired = true
		s.wake()
	}
	return s.retired
}

// wake lets the stream see that there is something to send, or to end.
func (s *stream) wake() {
	select {
	case s.some <- struct{}{}:
	default:
	}
}

// receive gives answers to their calls until the stream ends.
func (s *stream) receive(calls grpc.BidiStreamingClient[openintentv1.ExchangeRequest, openintentv1.ExchangeResponse]) {
	for {
		response, err := calls.Recv()
		if err != nil {
			s.end(err)
			return
		}
		s.mutex.Lock()
		s.heard = true
		for _, answer := range response.GetAnswers() {
			if waits := s.waiting[answer.GetNumber()]; waits != nil {
				waits <- answer
				delete(s.waiting, answer.GetNumber())
			}
		}
		if len(s.waiting) == 0 && s.retired {
			s.wake()
		}
		s.mutex.Unlock()
	}
}

// end fails the calls that have no answer.
func (s *stream) end(err error) {
	s.cancel()
	s.mutex.Lock()
	silent := !s.heard
	s.mutex.Unlock()
	refused := status.Code(err) == codes.ResourceExhausted && reasonOf(err) == "TOO_MANY_STREAMS"
	unknown := status.Code(err) == codes.Unimplemented
	switch {
	case refused || unknown:
		err = errElsewhere
	case errors.Is(err, io.EOF):
		err = status.Error(codes.Unavailable, "The exchange has ended; make the call again.")
	}
	s.mutex.Lock()
	s.retired, s.err = true, err
	s.mutex.Unlock()
	s.connection.ended(s.lane, s, refused || silent, unknown)
	close(s.over)
}

// call makes a call and waits for its answer.
func (s *stream) call(ctx context.Context, request *openintentv1.NumberedRequest, args, reply any) error {
	_, asks := args.(*openintentv1.AskRequest)
	waits, err := s.add(request, asks)
	if err != nil {
		return err
	}
	if asks {
		defer s.askEnds()
	}
	select {
	case answer := <-waits:
		return answered(answer, args, reply)
	case <-ctx.Done():
		s.give(request.GetNumber())
		return status.FromContextError(ctx.Err()).Err()
	case <-s.over:
	}
	select {
	case answer := <-waits: // it came before the end
		return answered(answer, args, reply)
	default:
		return s.err
	}
}

// tellPeer sets the peer of a call, if its caller asks for it. It leaves it empty if the stream never had a connection.
func (s *stream) tellPeer(peerOf *peer.Peer) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if peerOf != nil && s.peer != nil {
		*peerOf = *s.peer
	}
}

// answered returns what an answer says of a call.
func answered(answer *openintentv1.NumberedAnswer, args, reply any) error {
	if refusal := answer.GetRefusal(); refusal != nil {
		err := status.FromProto(refusal).Err()
		if reasonOf(err) == "TOO_MANY_UNDER_WAY" {
			return errElsewhere
		}
		return err
	}
	complete(answer, args)
	if !fill(reply, responseOf(answer)) {
		return status.Error(codes.Internal, "The server answered another call than this one.")
	}
	return nil
}

// add adds a call, or returns errElsewhere.
func (s *stream) add(request *openintentv1.NumberedRequest, asks bool) (<-chan *openintentv1.NumberedAnswer, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.retired || !asks && len(s.waiting)-s.asks >= mostUnanswered {
		return nil, errElsewhere
	}
	s.last++
	request.Number = s.last
	waits := make(chan *openintentv1.NumberedAnswer, 1)
	s.waiting[s.last], s.used = waits, time.Now()
	if s.out = append(s.out, request); asks {
		s.asks++
	}
	s.wake()
	return waits, nil
}

// give gives a call up whose caller waits no more.
func (s *stream) give(number int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, waits := s.waiting[number]; !waits {
		return
	}
	delete(s.waiting, number)
	s.wake()
	unsent := func(request *openintentv1.NumberedRequest) bool { return request.GetNumber() == number }
	if at := slices.IndexFunc(s.out, unsent); at >= 0 {
		s.out = slices.Delete(slices.Clone(s.out), at, at+1) // next may have handed out the front of the list
		return
	}
	s.cancelled = append(s.cancelled, number)
}

func (s *stream) askEnds() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asks--
}

// reasonOf returns the stable word of a refusal.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
