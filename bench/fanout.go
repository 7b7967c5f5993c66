package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"text/tabwriter"

	openintentv1 "openintent/gen/openintent/v1"
)

// underWay is how many messages of the one sender may be in transit: sent, but not yet received by every stream. With
// more, the measurement would show how streams catch up.
const underWay = 64

var (
	fanOutStored = series{"fan-out", "one channel"}
	fanOutBare   = series{"fan-out, nothing stored", "-"}
)

// fanOut measures one sender whose messages go to many streams. For comparison it measures a server that stores
// nothing, encodes each message once and hands it to its streams.
func (p plan) fanOut(ctx context.Context, engine string) error {
	server, err := p.startServer(ctx, engine, "fanout")
	if err != nil {
		return err
	}
	defer server.stop()
	limit, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer limit.stop()
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		for _, streams := range p.streams {
			channels, err := server.openChannels(ctx, 1)
			if err != nil {
				return err
			}
			for _, contestant := range []struct {
				series  series
				target  *target
				channel string
			}{
				{fanOutStored, server, channels[0]},
				{fanOutBare, limit, fanOutChannel},
			} {
				measured, err := p.load(ctx, underWay, contestant.target.broadcaster(contestant.channel, streams, nil))
				if err != nil {
					return fmt.Errorf("%s, %d streams: %w", contestant.series.name, streams, err)
				}
				all.add(contestant.series, streams, measured)
			}
		}
	}
	p.printFanOut(engine, all)
	return nil
}

// broadcaster sends to everyone on a channel with n streams of n agents. A unit of work is a message that every stream has received. The
// streams follow the channel, unless another request is given.
func (t *target) broadcaster(
	channel string, n int, request func(n int) *openintentv1.SubscribeRequest,
) func(context.Context) (worker, error) {
	if request == nil {
		request = func(int) *openintentv1.SubscribeRequest { return onChannel(channel) }
	}
	return func(ctx context.Context) (worker, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		streams, err := t.follow(ctx, 0, n, request)
		if err != nil {
			cancel(err)
			return nil, err
		}
		a := &arrivals{streams: int64(n), complete: make(chan struct{}, underWay)}
		streams.count(a, cancel)
		return t.broadcast(ctx, channel, a), nil
	}
}

// broadcast sends to everyone on a channel and waits until a message has arrived everywhere. It fails when the context of
// the streams ends.
func (t *target) broadcast(streams context.Context, channel string, a *arrivals) worker {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return func(ctx context.Context, _ int) error {
		_, err := client.SendMessage(as(ctx, asker), &openintentv1.SendMessageRequest{ChannelId: channel, Payload: payload()})
		if err != nil {
			return err
		}
		select {
		case <-a.complete:
			return nil
		case <-streams.Done():
			return errors.Join(errors.New("a stream ended"), context.Cause(streams))
		}
	}
}

// arrivals records which messages have reached all streams. Each stream receives the same messages in the same order,
// so counting them is enough.
type arrivals struct {
	streams int64
	// counts are the counts of the messages in transit, in a ring: the k-th message of a stream is also the k-th of
	// the others.
	counts   [2 * underWay]atomic.Int64
	complete chan struct{}
}

// count receives on every stream until it ends.
func (f following) count(a *arrivals, ended context.CancelCauseFunc) {
	for _, stream := range f {
		go func() {
			for k := 0; ; k++ {
				if err := stream.RecvMsg(undecoded{}); err != nil {
					ended(err)
					return
				}
				a.received(k)
			}
		}()
	}
}

// received is called when a stream has received its k-th message.
func (a *arrivals) received(k int) {
	count := &a.counts[k%len(a.counts)]
	if count.Add(1) == a.streams {
		count.Store(0)
		a.complete <- struct{}{}
	}
}

func (p plan) printFanOut(engine string, all *results) {
	fmt.Printf("\n%s, one sender with %d messages under way, every stream of an agent of its own\n", engine, underWay)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tstreams\tmessages per second\tdeliveries per second\tp50 ms\tp99 ms\t")
	for _, s := range all.order {
		for _, streams := range p.streams {
			f, _ := all.median(s, streams)
			_, _ = fmt.Fprintf(table, "%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t\n", s.name, streams, f.perSecond,
				f.perSecond*float64(streams), milliseconds(f.median), milliseconds(f.slow))
		}
	}
	_ = table.Flush()
	for _, streams := range p.streams {
		stored, _ := all.median(fanOutStored, streams)
		bare, _ := all.median(fanOutBare, streams)
		fmt.Printf("%d streams: %.2f of what is delivered with nothing stored\n", streams, stored.perSecond/bare.perSecond)
	}
}
