package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// doBroadcast is a message to everyone on a channel that many agents receive.
	doBroadcast = "broadcast to agents"

	toStreams       = "streams of the channel"
	toSubscriptions = "durable subscriptions, acknowledged"
)

// broadcasting is how many broadcasts are under way at a time.
var broadcasting = []int{1, underWay}

// audience is how many agents receive broadcasts.
func (c *comparison) audience() int { return c.streams[len(c.streams)-1] }

// broadcasts compares broadcasts to agents' durable subscriptions with broadcasts to streams of a channel. A unit is one
// delivery: the time counts until every agent has received the message and, with a subscription, has acknowledged it. The figures' times
// are those of a whole broadcast.
func (c *comparison) broadcasts(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	for _, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "agents", &open)
		if err != nil {
			return err
		}
		channels, err := t.openChannels(ctx, 2)
		if err != nil {
			return err
		}
		if err := t.joinAll(ctx, channels[1], c.audience()); err != nil {
			return err
		}
		subscriptions, err := t.subscribeAll(ctx, nil, c.audience())
		if err != nil {
			return err
		}
		contests = append(contests,
			contest{
				row: row{doBroadcast, viaGRPC + engine, toStreams}, processes: processes,
				measure: c.perDelivery(t.broadcaster(channels[0], c.audience(), nil)),
			},
			contest{
				row: row{doBroadcast, viaGRPC + engine, toSubscriptions}, processes: processes,
				measure: c.perDelivery(t.acknowledgedBroadcaster(channels[1], subscriptions)),
			})
	}
	for range c.rounds {
		if err := c.take(ctx, broadcasting, contests); err != nil {
			return err
		}
	}
	return nil
}

// perDelivery measures broadcasts to the whole audience, and counts deliveries. The first broadcast, with which the streams begin, does
// not count.
func (c *comparison) perDelivery(begin func(context.Context) (worker, error)) func(context.Context, int) (figure, error) {
	begun := func(ctx context.Context) (worker, error) {
		work, err := begin(ctx)
		if err != nil {
			return nil, err
		}
		return work, work(ctx, 0)
	}
	return func(ctx context.Context, underWay int) (figure, error) {
		measured, err := c.load(ctx, underWay, begun)
		measured.perSecond *= float64(c.audience())
		return measured, err
	}
}

// gathering is about how long the part takes beyond its figures: the audience subscribes, and streams open in each round.
func (c *comparison) gathering() time.Duration {
	each := time.Duration(c.audience()) * 5 * time.Millisecond
	return 10*time.Second + time.Duration(len(c.engines)*(1+c.rounds*len(broadcasting)))*each
}

// broadcastAims compare deliveries to durable subscriptions with those to streams.
func (c *comparison) broadcastAims(engine string) (aims []aim) {
	durable, streams := row{doBroadcast, viaGRPC + engine, toSubscriptions}, row{doBroadcast, viaGRPC + engine, toStreams}
	for _, n := range broadcasting {
		name := fmt.Sprintf("broadcast to %d durable subscriptions, %d at a time: of one to streams, %s", c.audience(), n, engine)
		aims = append(aims, atLeast(0.4, name, rates(durable, streams, n)))
	}
	return aims
}
