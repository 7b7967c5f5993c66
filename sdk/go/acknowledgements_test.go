package openintent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// receipts is a server that notes what is acknowledged, and how.
type receipts struct {
	openintentv1.SubscriptionServiceClient
	mutex sync.Mutex
	noted []string
	// away lets no stream begin, breaks ends one before it has taken a request, and refuses ends it with its answer. hangs keeps the
	// answer.
	away, breaks, refuses error
	hangs                 bool
	// once refuses one call.
	once error
}

func (r *receipts) note(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.noted = append(r.noted, fmt.Sprintf(format, args...))
}

// taken returns what was noted since.
func (r *receipts) taken() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	noted := r.noted
	r.noted = nil
	return noted
}

func (r *receipts) AcknowledgeDeliveries(
	ctx context.Context, request *openintentv1.AcknowledgeDeliveriesRequest, _ ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.note("call %s%v", request.GetSubscriptionId(), request.GetNumbers())
	once := r.once
	r.once = nil
	return &openintentv1.Subscription{}, once
}

type acknowledging = grpc.ClientStreamingClient[openintentv1.StreamAcknowledgementsRequest, openintentv1.StreamAcknowledgementsResponse]

func (r *receipts) StreamAcknowledgements(ctx context.Context, _ ...grpc.CallOption) (acknowledging, error) {
	if r.away != nil {
		return nil, r.away
	}
	r.note("begin")
	return &receiptStream{of: r, ctx: ctx}, nil
}

type receiptStream struct {
	grpc.ClientStream
	of    *receipts
	ctx   context.Context
	count int64
}

func (s *receiptStream) Send(request *openintentv1.StreamAcknowledgementsRequest) error {
	if s.of.breaks != nil {
		return io.EOF
	}
	s.of.note("stream %s%v", request.GetSubscriptionId(), request.GetNumbers())
	s.count += int64(len(request.GetNumbers()))
	return nil
}

func (s *receiptStream) CloseAndRecv() (*openintentv1.StreamAcknowledgementsResponse, error) {
	if s.of.hangs {
		<-s.ctx.Done()
	}
	s.of.note("end")
	return &openintentv1.StreamAcknowledgementsResponse{Acknowledged: s.count}, errors.Join(s.of.breaks, s.of.refuses, s.ctx.Err())
}

// withReceipts runs an acknowledger in a bubble, whose clock stands still while the test does something.
func withReceipts(t *testing.T, test func(t *testing.T, r *receipts, a *acknowledger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &receipts{}
		receiver := newReceiver(newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"}))
		receiver.client.raw.Subscriptions, receiver.client.raw.Experimental = server, server
		a := newAcknowledger(receiver)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			a.run(ctx)
			close(ended)
		}()
		test(t, server, a)
		cancel()
		<-ended
	})
}

// done finishes deliveries and waits until they are acknowledged.
func (a *acknowledger) done(subscription string, numbers ...int64) {
	for _, number := range numbers {
		a.add(numbered(subscription, number))
	}
	<-time.After(gathering)
	synctest.Wait()
}

func TestRareAcknowledgementsAreCalls(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		for number := range int64(3) {
			a.done("s", number)
			<-time.After(confirmedAfter)
		}
		require.Equal(t, []string{"call s[0]", "call s[1]", "call s[2]"}, r.taken())
	})
}

func TestFrequentAcknowledgementsGoOnAStreamThatTheServerConfirms(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		a.done("s", 1)
		a.done("s", 2, 3)
		a.done("s", 4)
		require.Equal(t, []string{"call s[1]", "begin", "stream s[2 3]", "stream s[4]"}, r.taken())
		<-time.After(confirmedAfter)
		synctest.Wait()
		require.Equal(t, []string{"end"}, r.taken(), "although nothing more is acknowledged")
		<-time.After(time.Minute)
		synctest.Wait()
		require.Empty(t, r.taken())
		a.done("s", 5)
		require.Equal(t, []string{"call s[5]"}, r.taken(), "it was long ago")
	})
}

func TestAStreamAcknowledgesOneSubscription(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		a.done("old", 1)
		a.done("old", 2)
		a.done("new", 1)
		require.Equal(t, []string{"call old[1]", "begin", "stream old[2]", "end", "begin", "stream new[1]"}, r.taken())
	})
}

func TestLeavingWaitsUntilTheStreamIsConfirmed(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		a.done("s", 1)
		a.done("s", 2)
		started := time.Now()
		a.flush(time.Minute)
		require.Equal(t, []string{"call s[1]", "begin", "stream s[2]", "end"}, r.taken())
		require.Equal(t, started, time.Now())
		a.flush(time.Minute)
		require.Equal(t, started, time.Now(), "nothing is left")
	})
}

func TestLeavingWaitsNoLongerThanItsPatience(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		r.hangs = true
		a.done("s", 1)
		a.done("s", 2)
		started := time.Now()
		a.flush(time.Second)
		require.Equal(t, time.Second, time.Since(started))
	})
}

// What the server has not confirmed is acknowledged by calls.
func TestWhatIsNotConfirmedIsAcknowledgedByCalls(t *testing.T) {
	lost := status.Error(codes.Aborted, "ACKNOWLEDGEMENTS_LOST")
	for name, test := range map[string]struct {
		fails func(*receipts)
		noted []string
	}{
		"it is refused at last": {
			func(r *receipts) { r.refuses = lost },
			[]string{"begin", "stream s[2]", "stream s[3]", "end", "call s[2 3]"},
		},
		"it does not begin": {
			func(r *receipts) { r.away = status.Error(codes.Unavailable, "connection refused") },
			[]string{"call s[2]", "call s[3]"},
		},
		"it breaks at once": {
			func(r *receipts) { r.breaks = lost },
			[]string{"begin", "end", "call s[2]", "call s[3]"},
		},
		"the answer does not come": {
			func(r *receipts) { r.hangs = true },
			[]string{"begin", "stream s[2]", "stream s[3]", "end", "call s[2 3]"},
		},
		"the server has no such streams": {
			func(r *receipts) { r.breaks = status.Error(codes.Unimplemented, "unknown method") },
			[]string{"begin", "end", "call s[2]", "call s[3]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
				a.done("s", 1)
				require.Equal(t, []string{"call s[1]"}, r.taken())
				test.fails(r)
				a.done("s", 2)
				a.done("s", 3)
				<-time.After(confirmedAfter + confirmPatience)
				synctest.Wait()
				require.Equal(t, test.noted, r.taken())
			})
		})
	}
}

// After a failure the agent does without streams for a while, and if the server has none, for good.
func TestAStreamThatFailedIsNotTriedAgainSoon(t *testing.T) {
	for code, again := range map[codes.Code]bool{codes.Aborted: true, codes.Unimplemented: false} {
		withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
			a.done("s", 1)
			r.breaks = status.Error(code, "it fails")
			a.done("s", 2)
			r.breaks = nil
			<-time.After(streamPause - 2*gathering)
			a.done("s", 3)
			require.Equal(t, []string{"call s[1]", "begin", "end", "call s[2]", "call s[3]"}, r.taken())
			a.done("s", 4)
			a.done("s", 5)
			require.Equal(t, again, slices.Contains(r.taken(), "begin"), code)
		})
	}
}

// One refusal names all deliveries that come again one after the other, and the rest is acknowledged by the next call.
func TestDeliveriesThatComeAgainAreLeftOutTogether(t *testing.T) {
	for name, test := range map[string]struct {
		metadata map[string]string
		noted    []string
	}{
		"through a number":               {map[string]string{"number": "2", "through": "4"}, []string{"call s[1 2 3 4 5]", "call s[1 5]"}},
		"a server of an earlier release": {map[string]string{"number": "2"}, []string{"call s[1 2 3 4 5]", "call s[1 3 4 5]"}},
	} {
		t.Run(name, func(t *testing.T) {
			withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
				refused, err := status.New(codes.Aborted, "It comes again.").WithDetails(
					&errdetails.ErrorInfo{Reason: reasonComesAgain, Domain: "openintent", Metadata: test.metadata})
				require.NoError(t, err)
				r.once = refused.Err()
				a.done("s", 1, 2, 3, 4, 5)
				require.Equal(t, test.noted, r.taken())
			})
		})
	}
}

func TestAStreamOfManyAcknowledgementsEnds(t *testing.T) {
	withReceipts(t, func(t *testing.T, r *receipts, a *acknowledger) {
		a.done("s", 1)
		r.refuses = status.Error(codes.Unavailable, "stopping")
		numbers := make([]int64, confirmedAtMost)
		for i := range numbers {
			numbers[i] = int64(i + 2)
		}
		a.done("s", numbers...)
		noted := r.taken()
		require.Contains(t, noted, "end", "it does not wait for its time")
		calls := 0
		for _, one := range noted {
			if strings.HasPrefix(one, "call") {
				calls++
			}
		}
		require.Equal(t, 1+confirmedAtMost/acknowledgedAtOnce, calls, "as many as one call takes")
	})
}
