package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// confirmedAfter is after which time an agent ends a stream of acknowledgements, so that the server confirms them.
const confirmedAfter = time.Second

// acknowledgingAt is how many deliveries an agent acknowledges with one request at most.
const acknowledgingAt = 1000

// subscribeAll gives n followers a durable subscription each: to a channel or, as the agents of the SDKs have it, to all messages that reach
// the follower.
func (t *target) subscribeAll(ctx context.Context, channel *string, n int) ([]string, error) {
	ids := make([]string, n)
	return ids, inParallel(n, func(i int) error {
		made, err := openintentv1.NewSubscriptionServiceClient(t.conn).CreateSubscription(as(ctx, follower(i)),
			&openintentv1.CreateSubscriptionRequest{
				ChannelId: channel, EventTypes: []string{"channel_message"}, AcknowledgeSeconds: proto.Int32(3600), MaxAttempts: proto.Int32(20),
			})
		ids[i] = made.GetId()
		return err
	})
}

// joinAll lets n followers say something on a channel, so that they take part in its intent and messages to everyone reach them.
func (t *target) joinAll(ctx context.Context, channel string, n int) error {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return inParallel(n, func(i int) error {
		_, err := client.SendMessage(as(ctx, follower(i)), &openintentv1.SendMessageRequest{
			ChannelId: channel, To: new(asker), Payload: payload(),
		})
		return err
	})
}

// acknowledgedBroadcaster sends to everyone on a channel while each subscription has a stream. A unit of work is a message
// that every stream has received and every agent has acknowledged. The server confirms acknowledgements a second later, and a run in which
// it does not has failed.
func (t *target) acknowledgedBroadcaster(channel string, subscriptions []string) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		agents, err := t.receive(ctx, subscriptions)
		if err != nil {
			cancel(err)
			return nil, err
		}
		a := &arrivals{streams: int64(len(agents)), complete: make(chan struct{}, underWay)}
		agents.run(ctx, a, cancel)
		return t.broadcast(ctx, channel, a), nil
	}
}

// receiver is an agent that acknowledges what its subscription's stream brings, on a stream of acknowledgements, as busy agents of the Go
// SDK do. Each request takes all that wait.
type receiver struct {
	client       openintentv1.SubscriptionServiceClient
	experimental openintentv1.ExperimentalServiceClient
	name         string
	subscription string
	stream       grpc.ServerStreamingClient[openintentv1.SubscriptionDelivery]
	received     chan int64
}

// receive opens a stream for each subscription and waits until each is the active one.
func (t *target) receive(ctx context.Context, subscriptions []string) (receivers, error) {
	conns, err := t.connections(ctx, len(subscriptions))
	if err != nil {
		return nil, err
	}
	agents := make(receivers, len(subscriptions))
	return agents, inParallel(len(agents), func(i int) (err error) {
		r := &receiver{
			client:       openintentv1.NewSubscriptionServiceClient(conns[i/streamsPerConnection]),
			experimental: openintentv1.NewExperimentalServiceClient(conns[i/streamsPerConnection]), name: follower(i),
			subscription: subscriptions[i], received: make(chan int64, acknowledgingAt),
		}
		agents[i] = r
		r.stream, err = r.client.StreamDeliveries(as(ctx, r.name), &openintentv1.StreamDeliveriesRequest{
			SubscriptionId: r.subscription, MaxOutstanding: proto.Int32(acknowledgingAt), AnnounceActive: proto.Bool(true),
		}, grpc.ForceCodecV2(codec))
		for active := false; err == nil && !active; {
			var first *openintentv1.SubscriptionDelivery
			first, err = r.stream.Recv()
			active = !first.GetStandingBy()
			if err == nil && first.GetNumber() > 0 {
				err = fmt.Errorf("delivery %d was left over", first.GetNumber())
			}
		}
		return err
	})
}

type receivers []*receiver

// run receives and acknowledges until the streams end.
func (r receivers) run(ctx context.Context, a *arrivals, ended context.CancelCauseFunc) {
	for _, agent := range r {
		go func() { ended(agent.receive()) }()
		go func() {
			if err := agent.acknowledge(ctx, a, ended); err != nil {
				ended(err)
			}
		}()
	}
}

// receive receives until the stream ends.
func (r *receiver) receive() error {
	defer close(r.received)
	for {
		var number deliveryNumber
		if err := r.stream.RecvMsg(&number); err != nil {
			return err
		}
		r.received <- int64(number)
	}
}

// acknowledge acknowledges what was received, until no more comes. It changes to another stream from time to time, while the server
// confirms the one before.
func (r *receiver) acknowledge(ctx context.Context, a *arrivals, ended context.CancelCauseFunc) error {
	done := 0
	for numbers := r.waiting(); len(numbers) > 0; {
		stream, err := r.experimental.StreamAcknowledgements(as(ctx, r.name))
		if err != nil {
			return err
		}
		first := done
		for end := time.Now().Add(confirmedAfter); len(numbers) > 0 && time.Now().Before(end); numbers = r.waiting() {
			request := &openintentv1.StreamAcknowledgementsRequest{SubscriptionId: r.subscription, Numbers: numbers}
			if err := stream.Send(request); err != nil {
				return errors.Join(err, stream.RecvMsg(new(openintentv1.StreamAcknowledgementsResponse)))
			}
			for range numbers {
				a.received(done)
				done++
			}
		}
		expected := int64(done - first)
		go func() {
			if confirmed, err := stream.CloseAndRecv(); err != nil || confirmed.GetAcknowledged() != expected {
				ended(errors.Join(errors.New("acknowledgements were lost"), err))
			}
		}()
	}
	return nil
}

// waiting waits for a delivery and returns the numbers of all that are there; none after the end.
func (r *receiver) waiting() (numbers []int64) {
	number, ok := <-r.received
	for ok {
		numbers = append(numbers, number)
		if len(numbers) == acknowledgingAt {
			return numbers
		}
		select {
		case number, ok = <-r.received:
		default:
			return numbers
		}
	}
	return numbers
}

// deliveryNumber is what an agent receives into when it looks at nothing but a delivery's number.
type deliveryNumber int64

// numberField is the delivery's field with the number.
var numberField = new(openintentv1.SubscriptionDelivery).ProtoReflect().Descriptor().Fields().ByName("number").Number()

// receive finds the number in a received delivery. It is near the beginning, so the whole is rarely looked at.
func (n *deliveryNumber) receive(data mem.BufferSlice) error {
	if len(data) > 0 && n.decode(data[0].ReadOnlyData()) == nil {
		return nil
	}
	return n.decode(data.Materialize())
}

// decode finds the number in an encoded delivery.
func (n *deliveryNumber) decode(encoded []byte) error {
	for len(encoded) > 0 {
		found, kind, length := protowire.ConsumeTag(encoded)
		if length < 0 {
			return protowire.ParseError(length)
		}
		encoded = encoded[length:]
		if found == numberField {
			value, length := protowire.ConsumeVarint(encoded)
			*n = deliveryNumber(value) //nolint:gosec // numbers are positive
			return protowire.ParseError(min(length, 0))
		}
		if length = protowire.ConsumeFieldValue(found, kind, encoded); length < 0 {
			return protowire.ParseError(length)
		}
		encoded = encoded[length:]
	}
	return errors.Join(errors.New("a delivery has no number"), io.ErrUnexpectedEOF)
}
