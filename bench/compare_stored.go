package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// doStored is a message to everyone on a channel that the server stores for each of many agents before it sends it.
	doStored = "broadcast, stored for each agent"

	toOwnLogs = "streams of agents' own logs"
	toFetches = "agents that fetch and acknowledge"
)

// storedFirst measures broadcasts that are stored for each agent before the agent gets them. A unit is one delivery; the figures' times are
// those of a whole broadcast.
func (c *comparison) storedFirst(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	for _, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "stored", &open)
		if err != nil {
			return err
		}
		channels, err := t.openChannels(ctx, 2)
		if err != nil {
			return err
		}
		if err := t.joinAll(ctx, channels[0], c.audience()); err != nil {
			return err
		}
		subscriptions, err := t.subscribeAll(ctx, &channels[1], c.audience())
		if err != nil {
			return err
		}
		contests = append(contests,
			contest{
				row: row{doStored, viaGRPC + engine, toOwnLogs}, processes: processes,
				measure: c.perDelivery(t.broadcaster(channels[0], c.audience(), onAgent)),
			},
			contest{
				row: row{doStored, viaGRPC + engine, toFetches}, processes: processes,
				measure: c.perDelivery(t.fetchedBroadcaster(channels[1], subscriptions)),
			})
	}
	for range c.rounds {
		if err := c.take(ctx, broadcasting, contests); err != nil {
			return err
		}
	}
	return nil
}

// fetchedBroadcaster sends to everyone on a channel while the agent of each subscription fetches. A unit of work is a message that every
// agent has fetched and acknowledged.
func (t *target) fetchedBroadcaster(channel string, subscriptions []string) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		conns, err := t.connections(ctx, len(subscriptions))
		if err != nil {
			cancel(err)
			return nil, err
		}
		a := &arrivals{streams: int64(len(subscriptions)), complete: make(chan struct{}, underWay)}
		fetchAll(ctx, conns, subscriptions, a, cancel)
		return t.broadcast(ctx, channel, a), nil
	}
}

// fetchAll fetches for all subscriptions until one fails.
func fetchAll(ctx context.Context, conns []*grpc.ClientConn, subscriptions []string, a *arrivals, ended context.CancelCauseFunc) {
	for i, subscription := range subscriptions {
		client := openintentv1.NewSubscriptionServiceClient(conns[i/streamsPerConnection])
		go func() { ended(fetch(as(ctx, follower(i)), client, subscription, a)) }()
	}
}

// fetch fetches and acknowledges without end.
func fetch(ctx context.Context, client openintentv1.SubscriptionServiceClient, subscription string, a *arrivals) error {
	for done := 0; ; {
		found, err := client.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: subscription, WaitSeconds: proto.Float64(20), Limit: proto.Int32(acknowledgingAt),
		})
		if err != nil {
			return err
		}
		if len(found.GetDeliveries()) == 0 {
			continue
		}
		numbers := make([]int64, len(found.GetDeliveries()))
		for i, d := range found.GetDeliveries() {
			numbers[i] = d.GetNumber()
		}
		_, err = client.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: subscription, Numbers: numbers})
		if err != nil {
			return err
		}
		for range numbers {
			a.received(done)
			done++
		}
	}
}
