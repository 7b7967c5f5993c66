package c2a

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// patience bounds the waits of tests for what must happen.
const patience = time.Minute

// contract is a contract whose deliveries a test plays.
type contract struct {
	openintentv1.SubscriptionServiceClient
	deliveries   chan *openintentv1.SubscriptionDelivery
	refusal      chan error
	acknowledged chan int64
	// ended has why the stream of deliveries was over.
	ended chan error
	// refuses says which acknowledgements are refused; nil stands for none.
	refuses func(numbers []int64) error
}

func (c *contract) CreateSubscription(
	context.Context, *openintentv1.CreateSubscriptionRequest, ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	return &openintentv1.Subscription{Id: "sub", Name: subscriptionName, LastNumber: 1, Include: []string{"attention", "annotations"}}, nil
}

func (c *contract) ListSubscriptions(
	context.Context, *openintentv1.ListSubscriptionsRequest, ...grpc.CallOption,
) (*openintentv1.ListSubscriptionsResponse, error) {
	return &openintentv1.ListSubscriptionsResponse{}, nil
}

func (c *contract) StreamDeliveries(
	ctx context.Context, _ *openintentv1.StreamDeliveriesRequest, _ ...grpc.CallOption,
) (grpc.ServerStreamingClient[openintentv1.SubscriptionDelivery], error) {
	return &played{contract: c, ctx: ctx}, nil
}

func (c *contract) AcknowledgeDeliveries(
	_ context.Context, request *openintentv1.AcknowledgeDeliveriesRequest, _ ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	if c.refuses != nil {
		if err := c.refuses(request.GetNumbers()); err != nil {
			return nil, err
		}
	}
	for _, number := range request.GetNumbers() {
		c.acknowledged <- number
	}
	return &openintentv1.Subscription{}, nil
}

// played is the stream of the deliveries that a test plays.
type played struct {
	grpc.ServerStreamingClient[openintentv1.SubscriptionDelivery]
	contract *contract
	ctx      context.Context
}

func (p *played) Recv() (*openintentv1.SubscriptionDelivery, error) {
	select {
	case made := <-p.contract.deliveries:
		return made, nil
	case err := <-p.contract.refusal:
		return nil, err
	case <-p.ctx.Done():
		select {
		case p.contract.ended <- context.Cause(p.ctx):
		default: // the first stream's is kept
		}
		return nil, status.FromContextError(p.ctx.Err()).Err()
	}
}

// line is a wire whose harness a test plays.
type line struct {
	in, out chan []byte
	// stuck makes every further write wait, and deaf makes the harness give no sign of life.
	stuck  chan struct{}
	deaf   error
	closed chan closing
	// gone is closed by the door, and left by the harness.
	gone, left chan struct{}
}

func (l *line) read(context.Context) ([]byte, func(), error) {
	select {
	case text := <-l.in:
		return text, func() {}, nil
	case <-l.gone:
		return nil, nil, io.EOF
	case <-l.left:
		return nil, nil, io.EOF
	}
}

func (l *line) write(ctx context.Context, text []byte) error {
	select {
	case <-l.stuck:
		<-ctx.Done()
		return ctx.Err()
	default:
	}
	l.out <- text
	return nil
}

func (l *line) alive(context.Context) error { return l.deaf }

func (l *line) close(why closing) {
	l.closed <- why
	close(l.gone)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-06-02"}}`

const helloWithDigests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-06-02",` +
	`"capabilities":{"injection":{"buffered":true,"digest":true}}}}`

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// result is the answer that takes a delivery.
func result(event string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"` + requestID(event) + `","result":{}}`)
}

// served serves a harness with these times, and returns why the connection ended once the test has played it.
func served(t *testing.T, of times, play func(c *contract, l *line)) closing {
	t.Helper()
	c := &contract{
		deliveries: make(chan *openintentv1.SubscriptionDelivery, 100), refusal: make(chan error, 1), acknowledged: make(chan int64, 100),
		ended: make(chan error, 1),
	}
	l := &line{
		in: make(chan []byte, 100), out: make(chan []byte, 100), stuck: make(chan struct{}), closed: make(chan closing, 1), gone: make(chan struct{}),
		left: make(chan struct{}),
	}
	door := New(Config{})
	door.times = of
	over := make(chan error, 1)
	play(c, l)
	go func() {
		over <- door.serve(t.Context(), &doors.Caller{Agent: "bob", Subscriptions: c}, l)
	}()
	select {
	case err := <-over:
		why := <-l.closed
		var known *ended
		require.Equal(t, why.reason != "", errors.As(err, &known), "%v", err)
		return why
	case <-time.After(patience):
		require.Fail(t, "the connection does not end")
	}
	return closing{}
}

// toBob is a delivery to bob.
func toBob(number int64) *openintentv1.SubscriptionDelivery {
	return &openintentv1.SubscriptionDelivery{
		SubscriptionId: "sub", Number: number, Attempt: 1,
		Message: &openintentv1.Message{Id: "msg_1", Sender: "ann", To: new("bob"), Payload: &structpb.Struct{}},
		Attention: &openintentv1.Attention{
			Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY, Injection: openintentv1.Injection_INJECTION_BUFFERED,
		},
	}
}

// long are times that do not run out in a test.
var long = times{initialize: time.Hour, alive: time.Hour, write: time.Hour, arrive: time.Hour, close: time.Hour, acknowledge: time.Hour}

// The door ends the connections of harnesses that keep it waiting, and says why.
func TestWhyConnectionsEnd(t *testing.T) {
	for what, given := range map[string]struct {
		times  func(*times)
		play   func(c *contract, l *line)
		reason string
	}{
		"no first request": {func(of *times) { of.initialize = time.Millisecond }, func(*contract, *line) {}, errSilent.why.reason},
		"no reading": {func(of *times) { of.write = time.Millisecond }, func(c *contract, l *line) {
			l.in <- []byte(hello)
			close(l.stuck)
		}, errSlow.why.reason},
		"no sign of life": {func(of *times) { of.alive = time.Millisecond }, func(_ *contract, l *line) {
			l.in <- []byte(hello)
			l.deaf = io.ErrUnexpectedEOF
		}, errLost.why.reason},
		"another connection": {func(*times) {}, func(c *contract, l *line) {
			l.in <- []byte(hello)
			c.deliveries <- &openintentv1.SubscriptionDelivery{}
			c.deliveries <- &openintentv1.SubscriptionDelivery{StandingBy: true}
		}, errReplaced.why.reason},
		"a key that was revoked": {func(*times) {}, func(c *contract, l *line) {
			l.in <- []byte(hello)
			c.refusal <- status.Error(codes.Unauthenticated, "The key was revoked.")
		}, "REFUSED: The key was revoked."},
	} {
		t.Run(what, func(t *testing.T) {
			of := long
			given.times(&of)
			require.Equal(t, given.reason, served(t, of, given.play).reason)
		})
	}
}

// The calls of a harness that leaves are cancelled. How its socket ended is nobody's failure.
func TestCallsOfAHarnessThatLeavesAreCancelled(t *testing.T) {
	var of *contract
	require.Empty(t, served(t, long, func(c *contract, l *line) {
		of = c
		l.in <- []byte(hello)
		c.deliveries <- toBob(1)
		go func() {
			<-l.out // the answer to the first request
			<-l.out // the delivery
			close(l.left)
		}()
	}).reason)
	cause := <-of.ended
	require.ErrorIs(t, cause, context.Canceled)
	require.NotErrorIs(t, cause, io.EOF)
}

// A result acknowledges a delivery, once; an error does not, and neither does an answer to what nobody asked. The door itself
// acknowledges what has nothing for the harness in it.
func TestWhatIsAcknowledged(t *testing.T) {
	why := served(t, long, func(c *contract, l *line) {
		l.in <- []byte(hello)
		c.deliveries <- toBob(1)
		own := toBob(2)
		own.Message.Sender = "bob"
		c.deliveries <- own
		go func() {
			<-l.out // the answer to initialize
			<-l.out // the delivery
			for _, said := range []string{
				`{"jsonrpc":"2.0","id":"deliver-msg_9","result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`,
				`{"jsonrpc":"2.0","id":"deliver-msg_1","error":{"code":1,"message":"no room"}}`, `{"jsonrpc":"2.0","id":"deliver-msg_1","result":{}}`,
				`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
			} {
				l.in <- []byte(said)
			}
			<-l.out // the answer to ping: all of that has been read
			if number := <-c.acknowledged; number != 2 {
				c.refusal <- status.Error(codes.Aborted, "Number 2 was to be the first.")
			}
			c.deliveries <- toBob(3)
			<-l.out
			l.in <- []byte(`{"jsonrpc":"2.0","id":"deliver-msg_1","result":{}}`)
			if number := <-c.acknowledged; number != 3 {
				c.refusal <- status.Error(codes.Aborted, "Number 3 was to be the next.")
			}
			c.deliveries <- &openintentv1.SubscriptionDelivery{StandingBy: true}
		}()
	})
	require.Equal(t, errReplaced.why.reason, why.reason)
}

// A digest and the message behind it are one delivery, and only the answer to the message acknowledges it. The door acknowledges in the
// order in which deliveries are done, so number 2, which needs no answer, shows that number 1 was not done before.
func TestADigestLeavesTheMessageBehindItUnacknowledged(t *testing.T) {
	why := served(t, long, func(c *contract, l *line) {
		l.in <- []byte(helloWithDigests)
		both := toBob(1)
		both.Digest = &openintentv1.Digest{MessageCount: 3}
		both.IntentId, both.Position = "int_1", 7
		c.deliveries <- both
		go func() {
			for range 3 {
				<-l.out // the answer to initialize, the digest and the message
			}
			l.in <- result(chat.DigestEvent(both).EventID)
			l.in <- []byte(ping)
			<-l.out // the answer to the digest has been read
			own := toBob(2)
			own.Message.Sender = "bob"
			c.deliveries <- own
			if number := <-c.acknowledged; number != 2 {
				c.refusal <- status.Error(codes.Aborted, "Number 1 is not done yet.")
			}
			l.in <- result("msg_1")
			if number := <-c.acknowledged; number != 1 {
				c.refusal <- status.Error(codes.Aborted, "Number 1 was to be the next.")
			}
			c.deliveries <- &openintentv1.SubscriptionDelivery{StandingBy: true}
		}()
	})
	require.Equal(t, errReplaced.why.reason, why.reason)
}

// A stream that is lost for a moment is opened again, and the connection goes on.
func TestALostStreamIsOpenedAgain(t *testing.T) {
	for _, lost := range []error{
		io.EOF, status.Error(codes.Unavailable, "restarting"), status.Error(codes.Internal, "odd"),
		fault.New(fault.Invalid, "CURSOR_BEYOND_LOG", "The log is shorter."),
	} {
		why := served(t, long, func(c *contract, l *line) {
			l.in <- []byte(hello)
			c.refusal <- lost
			go func() {
				<-l.out // the answer to initialize
				c.deliveries <- toBob(1)
				<-l.out
				c.deliveries <- &openintentv1.SubscriptionDelivery{StandingBy: true}
			}()
		})
		require.Equal(t, errReplaced.why.reason, why.reason, "%v", lost)
	}
}

// One number that the contract refuses takes no others with it, and a contract that is away for a moment is asked again.
func TestAcknowledgementsAreTriedAgain(t *testing.T) {
	c := &contract{acknowledged: make(chan int64, 100)}
	away := 1
	c.refuses = func(numbers []int64) error {
		if away--; away >= 0 {
			return status.Error(codes.Unavailable, "away")
		}
		if slices.Contains(numbers, 2) {
			return status.Error(codes.InvalidArgument, "there is no number 2")
		}
		return nil
	}
	p := &pending{c: &connection{caller: &doors.Caller{Subscriptions: c}, log: slog.New(slog.DiscardHandler)}}
	p.acknowledge(t.Context(), "sub", []int64{1, 2, 3})
	away = 1
	p.acknowledge(t.Context(), "sub", []int64{4})
	close(c.acknowledged)
	var numbers []int64
	for number := range c.acknowledged {
		numbers = append(numbers, number)
	}
	require.Equal(t, []int64{1, 3, 4}, numbers)
}
