package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// worker does one unit of work; n counts the units of all callers.
type worker func(ctx context.Context, n int) error

// figure is the result of one load.
type figure struct {
	perSecond    float64
	median, slow time.Duration // p50 and p99
	batch        float64       // messages in a commit of the server's writer
	elapsed      time.Duration // how long was measured, if known
}

// load lets callers work simultaneously for the plan's duration.
func (p plan) load(ctx context.Context, callers int, begin func(context.Context) (worker, error)) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, err := begin(ctx)
	if err != nil {
		return figure{}, err
	}
	var units atomic.Int64
	took := make([][]time.Duration, callers)
	failures := make([]error, callers)
	started := time.Now()
	until := started.Add(p.duration)
	var callersDone sync.WaitGroup
	for i := range callers {
		callersDone.Go(func() {
			for {
				before := time.Now()
				if before.After(until) {
					return
				}
				if failures[i] = work(ctx, int(units.Add(1))); failures[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(before))
			}
		})
	}
	callersDone.Wait()
	elapsed := time.Since(started)
	if err := errors.Join(failures...); err != nil {
		return figure{}, err
	}
	return figureOf(slices.Concat(took...), elapsed)
}

// figureOf sums up how long each unit of work took.
func figureOf(took []time.Duration, elapsed time.Duration) (figure, error) {
	if len(took) == 0 {
		return figure{}, errors.New("no unit of work ended in time")
	}
	slices.Sort(took)
	return figure{
		perSecond: float64(len(took)) / elapsed.Seconds(), median: took[len(took)/2], slow: took[len(took)*99/100],
		elapsed: elapsed,
	}, nil
}

// text is a payload of about 500 bytes, the size of agents' short structured messages.
var text = strings.Repeat("what schema version does the dataset use? ", 11)

func payload() *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"question": structpb.NewStringValue(text), "attempt": structpb.NewNumberValue(1),
	}}
}

// grpcSender sends notifications over gRPC, to the channels in turn.
func (t *target) grpcSender(channels []string) func(context.Context) (worker, error) {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			_, err := client.SendMessage(as(ctx, asker), &openintentv1.SendMessageRequest{
				ChannelId: channels[n%len(channels)], Payload: payload(),
			})
			return err
		}, nil
	}
}

// restSender sends the same over REST.
func (t *target) restSender(channels []string) func(context.Context) (worker, error) {
	body := []byte(`{"payload":{"question":"` + text + `","attempt":1}}`)
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			return t.request(ctx, asker, http.MethodPost, "/v1/channels/"+channels[n%len(channels)]+"/messages", body, http.StatusCreated)
		}, nil
	}
}

// asker asks on the first channel; a responder that follows the channel's stream answers each request.
func (t *target) asker(channels []string) func(context.Context) (worker, error) {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return func(ctx context.Context) (worker, error) {
		stream, err := client.Subscribe(as(ctx, responder), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channels[0]},
		})
		if err != nil {
			return nil, err
		}
		if _, err := stream.Header(); err != nil {
			return nil, err
		}
		go answer(ctx, client, stream.Recv)
		return func(ctx context.Context, _ int) error {
			_, err := client.Ask(as(ctx, asker), &openintentv1.AskRequest{
				ChannelId: channels[0], To: responder, Payload: payload(),
			})
			return err
		}, nil
	}
}

// answer replies to every request that arrives, each in its own goroutine so that replies commit together.
func answer(
	ctx context.Context, client openintentv1.MessageServiceClient, receive func() (*openintentv1.SubscribeResponse, error),
) {
	for {
		delivery, err := receive()
		if err != nil {
			return
		}
		request := delivery.GetMessage()
		if request.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
			continue
		}
		go func() {
			_, _ = client.ReplyMessage(as(ctx, responder), &openintentv1.ReplyMessageRequest{
				ChannelId: request.GetChannelId(), MessageId: request.GetId(), Payload: payload(),
			})
		}()
	}
}
