package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"text/tabwriter"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// senders is how many callers send simultaneously while the time to a stream is measured.
var senders = []int{1, 16, 64}

var (
	sameReplica = series{"send to stream", "one replica"}
	twoReplicas = series{"send to stream", "two replicas"}
)

// latency measures how long a message takes from its sender to a stream of its recipient: on one replica, and with the
// stream on another replica of the same PostgreSQL.
func (p plan) latency(ctx context.Context, engine string) error {
	url, err := p.databaseURL(ctx, engine, "latency")
	if err != nil {
		return err
	}
	here, err := startReplica(ctx, url)
	if err != nil {
		return err
	}
	defer here.stop()
	contestants := map[series]*target{sameReplica: here}
	order := []series{sameReplica}
	if engine == "postgres" {
		there, err := startReplica(ctx, url)
		if err != nil {
			return err
		}
		defer there.stop()
		contestants[twoReplicas] = there
		order = append(order, twoReplicas)
	}
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		channels, err := here.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		for _, n := range senders {
			for _, s := range order {
				measured, err := p.load(ctx, n, here.senderTo(contestants[s], channels[0]))
				if err != nil {
					return fmt.Errorf("%s, %d senders: %w", s.where, n, err)
				}
				all.add(s, n, measured)
			}
		}
	}
	printLatency(engine, all)
	return nil
}

// senderTo sends to an agent that follows the channel on a server. A unit of work ends when the sender has its
// acknowledgement and the stream has the message.
func (t *target) senderTo(there *target, channel string) func(context.Context) (worker, error) {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return func(ctx context.Context) (worker, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		streams, err := there.follow(ctx, 0, 1, func(int) *openintentv1.SubscribeRequest { return onChannel(channel) })
		if err != nil {
			cancel(err)
			return nil, err
		}
		var expected sync.Map // number of the message -> chan struct{}
		go func() {
			for {
				response, err := streams[0].Recv()
				if err != nil {
					cancel(err)
					return
				}
				number := int(response.GetMessage().GetPayload().GetFields()["number"].GetNumberValue())
				if arrived, ok := expected.LoadAndDelete(number); ok {
					close(arrived.(chan struct{}))
				}
			}
		}()
		return func(_ context.Context, n int) error {
			arrived := make(chan struct{})
			expected.Store(n, arrived)
			_, err := client.SendMessage(as(ctx, asker), &openintentv1.SendMessageRequest{
				ChannelId: channel, Payload: &structpb.Struct{Fields: map[string]*structpb.Value{
					"text": structpb.NewStringValue(text), "number": structpb.NewNumberValue(float64(n)),
				}},
			})
			if err != nil {
				return err
			}
			select {
			case <-arrived:
				return nil
			case <-ctx.Done():
				return errors.Join(errors.New("the stream ended"), context.Cause(ctx))
			}
		}, nil
	}
}

func printLatency(engine string, all *results) {
	fmt.Printf("\n%s, from a send to its recipient's stream\n", engine)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tsenders\tper second\tp50 ms\tp99 ms\t")
	for _, s := range all.order {
		for _, n := range senders {
			f, _ := all.median(s, n)
			_, _ = fmt.Fprintf(table, "%s\t%d\t%.0f\t%.2f\t%.2f\t\n", s.where, n, f.perSecond,
				milliseconds(f.median), milliseconds(f.slow))
		}
	}
	_ = table.Flush()
	for _, n := range senders {
		same, _ := all.median(sameReplica, n)
		if two, ok := all.median(twoReplicas, n); ok {
			fmt.Printf("%d senders: across replicas %.2f times the p50 and %.2f times the p99 of one replica\n", n,
				float64(two.median)/float64(same.median), float64(two.slow)/float64(same.slow))
		}
	}
}
