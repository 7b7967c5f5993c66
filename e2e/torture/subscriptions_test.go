package torture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// This file contains the receivers of durable subscriptions: streams with acknowledgements, fetches, and server-sent events
// that acknowledge by reconnecting.

// scope is what a subscription follows. The zero value means everything that reaches its agent.
type scope struct{ intent, channel string }

func (s scope) label(w *world) string {
	switch {
	case s.channel != "":
		at := w.channels[slices.IndexFunc(w.channels, func(p place) bool { return p.id == s.channel })]
		return at.name + " in " + w.label(at.intent)
	case s.intent != "":
		return w.label(s.intent)
	}
	return "everything"
}

// create creates a subscription and its receiver, which follows from that moment.
func (w *world) create(ctx context.Context, agent, transport string, of scope, url *string) (*following, *openintentv1.Subscription) {
	f := w.newFollowing(agent, transport, of.label(w), AtLeastOnce)
	request := &openintentv1.CreateSubscriptionRequest{
		AcknowledgeSeconds: proto.Int32(2), MaxAttempts: proto.Int32(100), WebhookUrl: url,
	}
	if of.channel != "" {
		request.ChannelId = &of.channel
		f.receiver.Channel, f.receiver.Intent = of.channel, w.intentOf(of.channel)
	} else if of.intent != "" {
		request.IntentId = &of.intent
		f.receiver.Intent, f.receiver.Events = of.intent, true
	}
	subscription, err := w.lines[0][0].As(agent).Subscriptions.CreateSubscription(ctx, request)
	require.NoError(w.t, err)
	f.accepts = false
	w.follow(f.receiver)
	return f, subscription
}

// subscribe makes several programs of an agent open streams of the same subscription. Only one of them is active at a time.
func (w *world) subscribe(ctx context.Context, agent string, of scope, programs int) {
	first, subscription := w.create(ctx, agent, "subscription over gRPC", of, nil)
	for number := range programs {
		f := &following{
			receiver: first.receiver, answers: first.answers, mayBeDenied: first.mayBeDenied,
			client: w.client(agent, fmt.Sprint(first.receiver.Name, number)),
		}
		w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return f.consume(ctx, subscription.GetId())
		})
	}
}

// consume receives one stream's deliveries and acknowledges most of them.
func (f *following) consume(ctx context.Context, id string) error {
	begun, at := f.now(), f.caller()
	stream, err := at.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: id, MaxOutstanding: proto.Int32(int32(5 + f.random.IntN(50))),
	})
	if err != nil {
		return err
	}
	connection := f.connect(f.receiver, 0, begun)
	var acknowledging sync.WaitGroup
	numbers := make(chan int64, 1000)
	acknowledging.Go(func() { f.acknowledgeAll(ctx, at, id, numbers) })
	defer acknowledging.Wait()
	defer close(numbers)
	for range f.lifetime() {
		d, err := stream.Recv()
		if err != nil {
			return err
		}
		if delivery := numberedDelivery(d); delivery.Message != nil {
			f.take(ctx, connection, delivery)
		}
		numbers <- d.GetNumber()
	}
	return nil
}

func numberedDelivery(d *openintentv1.SubscriptionDelivery) Delivery {
	delivery := Delivery{Cursor: d.GetNumber(), Attempt: int(d.GetAttempt())}
	if d.GetMessage() != nil {
		delivery.Message = messageOf(d.GetIntentId(), d.GetMessage())
	} else {
		delivery.Message = eventOf(d.GetEvent())
	}
	return delivery
}

// acknowledgeAll acknowledges deliveries as they arrive, all that are waiting in one call or, for some streams, several times on one stream
// of acknowledgements at the server that sent them. Sometimes it skips a call.
func (f *following) acknowledgeAll(ctx context.Context, at *harness.Caller, id string, numbers <-chan int64) {
	its := f.world.client(f.agent, fmt.Sprint(f.receiver.Name, " acknowledging ", f.now()))
	streams := its.once(2)
	for batch := gathered(numbers); len(batch) > 0; batch = gathered(numbers) {
		switch {
		case its.once(10):
		case streams:
			its.acknowledgeStreaming(ctx, at, f.receiver, id, batch, numbers)
		default:
			its.acknowledge(ctx, f.receiver, id, batch)
		}
	}
}

// gathered waits for a number and returns all that are there; none after the end.
func gathered(numbers <-chan int64) (batch []int64) {
	number, open := <-numbers
	for open {
		batch = append(batch, number)
		if len(batch) == 1000 {
			return batch
		}
		select {
		case number, open = <-numbers:
		default:
			return batch
		}
	}
	return batch
}

// acknowledgeStreaming acknowledges some numbers on a stream, and a few times what comes meanwhile. It records what the server has confirmed
// at the end.
func (c *client) acknowledgeStreaming(
	ctx context.Context, at *harness.Caller, receiver *Receiver, id string, batch []int64, numbers <-chan int64,
) {
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	stream, err := at.Experimental.StreamAcknowledgements(attempt)
	var sent []int64
	for times := 1 + c.random.IntN(5); err == nil && len(batch) > 0; batch = gathered(numbers) {
		sent = append(sent, batch...)
		err = stream.Send(&openintentv1.StreamAcknowledgementsRequest{SubscriptionId: id, Numbers: batch})
		if times--; times == 0 {
			break
		}
	}
	if stream == nil || c.once(10) { // some go without hearing whether it is stored
		return
	}
	answer, err := stream.CloseAndRecv()
	if status.Code(err) == codes.Unimplemented { // a server of release 0.1
		c.acknowledge(ctx, receiver, id, sent)
		return
	}
	c.acknowledged(ctx, receiver, sent, err)
	if err == nil && answer.GetAcknowledged() != int64(len(sent)) {
		c.problem("%s acknowledged %d deliveries, and the server confirms %d", receiver.Name, len(sent), answer.GetAcknowledged())
	}
}

// acknowledge tries once.
func (c *client) acknowledge(ctx context.Context, receiver *Receiver, id string, numbers []int64) {
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_, err := c.caller().Subscriptions.AcknowledgeDeliveries(attempt, &openintentv1.AcknowledgeDeliveriesRequest{
		SubscriptionId: id, Numbers: numbers,
	})
	c.acknowledged(ctx, receiver, numbers, err)
}

// acknowledged records which deliveries are finished according to the server.
func (c *client) acknowledged(ctx context.Context, receiver *Receiver, numbers []int64, err error) {
	if err == nil {
		var done []Done
		for _, number := range numbers {
			done = append(done, Done{Cursor: number})
		}
		c.done(receiver, done...)
	} else if !transient(err) && harness.Code(err) != codes.Aborted && ctx.Err() == nil { // Aborted: it comes again
		c.problem("%s cannot acknowledge: %v", receiver.Name, err)
	}
}

// fetch gets a subscription's deliveries page by page.
func (w *world) fetch(ctx context.Context, agent string, of scope) {
	f, subscription := w.create(ctx, agent, "subscription by fetching", of, nil)
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		begun := f.now()
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		page, err := f.caller().Subscriptions.FetchDeliveries(attempt, &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: subscription.GetId(), WaitSeconds: proto.Float64(2), Limit: proto.Int32(int32(1 + f.random.IntN(30))),
		})
		if err != nil || len(page.GetDeliveries()) == 0 {
			return err
		}
		connection := f.connect(f.receiver, 0, begun)
		var numbers []int64
		for _, d := range page.GetDeliveries() {
			if delivery := numberedDelivery(d); delivery.Message != nil {
				f.take(ctx, connection, delivery)
			}
			numbers = append(numbers, d.GetNumber())
		}
		if !f.once(10) {
			f.acknowledge(ctx, f.receiver, subscription.GetId(), numbers)
		}
		return nil
	})
}

// listenSubscription receives by server-sent events and acknowledges only by reconnecting, as browsers do.
func (w *world) listenSubscription(ctx context.Context, agent string, of scope) {
	f, subscription := w.create(ctx, agent, "subscription over SSE", of, nil)
	path := "/v1/subscribe/subscriptions/" + subscription.GetId()
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // once its window is full, nothing arrives any more
		defer cancel()
		begun := f.now()
		events, err := f.openEvents(ctx, path, f.cursor)
		if err != nil {
			return err
		}
		defer events.close()
		connection := f.connect(f.receiver, 0, begun)
		first := true
		for range 10 + f.random.IntN(90) {
			event, err := events.next()
			if err != nil {
				return err
			}
			if event.name == "error" {
				return event.refusal()
			}
			if event.data != "" {
				delivery, err := event.delivery()
				if err != nil {
					return err
				}
				if delivery.Message != nil {
					f.take(ctx, connection, delivery)
				}
			} else if !first {
				return fmt.Errorf("a subscription's stream moves the cursor to %d by itself", event.id)
			}
			first, f.cursor = false, &event.id
		}
		return nil
	})
}
