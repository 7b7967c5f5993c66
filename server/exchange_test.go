package server

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// A further request than may be under way is refused by itself. An ask leaves its place to others when its request is stored.
func TestAnExchangeHasSoManyUnderWay(t *testing.T) {
	send, ask := &exchangedCall{ordered: true}, &exchangedCall{ordered: true, asks: true}
	e := newTestExchange(nil)
	number := int64(0)
	begin := func(call *exchangedCall) (*runningCall, error) {
		number++
		return &runningCall{exchange: e, call: call, number: number}, e.begin(number, call, func() {})
	}
	for range mostUnderWay - 1 {
		_, err := begin(send)
		require.NoError(t, err)
	}
	asking, err := begin(ask)
	require.NoError(t, err)
	_, err = begin(send)
	require.ErrorIs(t, err, errTooManyUnderWay)
	asking.isStored()
	asking.isStored()
	_, err = begin(send)
	require.NoError(t, err)
	_, err = begin(send)
	require.ErrorIs(t, err, errTooManyUnderWay, "it is stored once")

	e.unstored, e.asks = 0, mostAsks-1
	last, err := begin(ask)
	require.NoError(t, err)
	last.isStored()
	_, err = begin(ask)
	require.ErrorIs(t, err, errTooManyUnderWay)
	_, err = begin(send)
	require.NoError(t, err)
	last.end()
	_, err = begin(ask)
	require.NoError(t, err)
}

func newTestExchange(stream exchangeStream) *exchange {
	return &exchange{
		stream: stream, open: make(map[int64]context.CancelFunc), unread: newUnreadAnswers(), queued: make(chan struct{}, 1),
		jobs: make(chan func()), over: make(chan struct{}),
	}
}

// sentResponses is a stream that keeps what is sent.
type sentResponses struct {
	exchangeStream
	sent []*openintentv1.ExchangeResponse
}

func (s *sentResponses) Send(response *openintentv1.ExchangeResponse) error {
	s.sent = append(s.sent, response)
	return nil
}

// A stream on which asks wait is kept by empty responses; another one may rest.
func TestAsksKeepTheirStream(t *testing.T) {
	stream := new(sentResponses)
	e := newTestExchange(stream)
	require.NoError(t, e.keep())
	require.Empty(t, stream.sent)
	require.NoError(t, e.begin(1, &exchangedCall{asks: true}, func() {}))
	require.NoError(t, e.keep())
	require.Len(t, stream.sent, 1)
	require.Empty(t, stream.sent[0].GetAnswers())
}

// Calls run on goroutines that others have left, and no more of these stay than a few. All end with the exchange, also if it ends while a
// request is taken up.
func TestFewGoroutinesRest(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := newTestExchange(nil)
	var running, ended sync.WaitGroup
	running.Add(3 * mostResting) // before the first one runs: otherwise it would wait for itself alone
	ended.Add(3 * mostResting)
	for range 3 * mostResting {
		e.run(func() {
			running.Done()
			running.Wait() // all at a time
			ended.Done()
		})
	}
	ended.Wait()
	require.Eventually(t, func() bool { return e.resting.Load() == mostResting }, time.Minute, time.Millisecond)
	e.close()
	e.close()
	ended.Add(1)
	e.run(ended.Done)
	ended.Wait()
}

// Answers that nobody reads take so much memory, and no more: an ask's answer waits as the place of its message then.
func TestUnreadAnswersAreBounded(t *testing.T) {
	large := func(number int64) *openintentv1.NumberedAnswer {
		return &openintentv1.NumberedAnswer{Number: number, Answer: &openintentv1.NumberedAnswer_Message{Message: &openintentv1.Message{
			Id: "msg_1", ChannelId: "chan_1",
			Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(strings.Repeat("x", mostUnread/2))}},
		}}}
	}
	u := newUnreadAnswers()
	for number := range int64(100) {
		u.add(large(number), true)
	}
	require.Less(t, u.bytes, mostUnread+100*100)
	waits := make(chan bool)
	u.add(large(100), false)
	go func() { waits <- u.awaitRoom() }()
	for number := range int64(101) {
		some := u.take()
		require.Len(t, some, 1)
		require.Equal(t, number, some[0].answer.GetNumber())
		if here := number < 1 || number == 100; here {
			require.NotNil(t, some[0].answer.GetMessage())
		} else if some[0].later != nil {
			require.Equal(t, "msg_1", some[0].later.GetMessageId())
			require.Equal(t, "chan_1", some[0].later.GetChannelId())
		}
	}
	require.True(t, <-waits)
	require.Empty(t, u.take())
	require.Zero(t, u.bytes)
	u.close()
	require.False(t, u.awaitRoom())
}

// Small answers come together, up to a number and to a size.
func TestAnswersComeTogether(t *testing.T) {
	u := newUnreadAnswers()
	for number := range int64(mostAnswers + 1) {
		u.add(&openintentv1.NumberedAnswer{Number: number}, false)
	}
	require.Len(t, u.take(), mostAnswers)
	require.Len(t, u.take(), 1)
}
