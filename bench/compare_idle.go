package main

import (
	"context"
	"fmt"
	"math"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	doIdle = "idle stream"
	// followingOneself is the stream of an agent that follows whatever reaches it, and followingDurably that of the agent's
	// durable subscription.
	followingOneself = "what reaches the agent"
	followingDurably = "the agent's durable subscription"
)

// idleKind is a kind of idle streams. SQLite stands for both engines, because a stream's memory does not depend on the engine.
type idleKind struct {
	row
	open func(ctx context.Context, t *target, streams int) error
}

var idleKinds = []idleKind{
	{row{doIdle, viaGRPC + "sqlite", oneChannel}, func(ctx context.Context, t *target, streams int) error {
		channels, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		_, err = t.follow(ctx, 0, streams, func(int) *openintentv1.SubscribeRequest { return onChannel(channels[0]) })
		return err
	}},
	{row{doIdle, viaGRPC + "sqlite", followingOneself}, func(ctx context.Context, t *target, streams int) error {
		_, err := t.follow(ctx, 0, streams, onAgent)
		return err
	}},
	{row{doIdle, viaGRPC + "sqlite", followingDurably}, func(ctx context.Context, t *target, streams int) error {
		subscriptions, err := t.subscribeAll(ctx, nil, streams)
		if err != nil {
			return err
		}
		_, err = t.receive(ctx, subscriptions)
		return err
	}},
	{row{doIdle, nothingStored, oneChannel}, func(ctx context.Context, t *target, streams int) error {
		_, err := t.follow(ctx, 0, streams, func(int) *openintentv1.SubscribeRequest { return onChannel(fanOutChannel) })
		return err
	}},
}

// opening is about how long it takes to open the idle streams.
func (c *comparison) opening() time.Duration {
	return time.Duration(c.rounds*len(idleKinds)) * (time.Second + time.Duration(c.streams[len(c.streams)-1])*time.Millisecond)
}

// idleMemory compares the memory of a stream on this server with that of a stream on a server that does nothing. In
// the results, bytes per stream take the place of a rate.
func (c *comparison) idleMemory(ctx context.Context) error {
	streams := c.streams[len(c.streams)-1]
	for range c.rounds {
		for _, kind := range idleKinds {
			each, err := c.idleStream(ctx, kind, streams)
			if err != nil {
				return fmt.Errorf("an idle stream of %s: %w", kind.where, err)
			}
			c.figures.add(kind.row, streams, measurement{figure: figure{perSecond: each}})
		}
	}
	return nil
}

func (c *comparison) idleStream(ctx context.Context, kind idleKind, streams int) (bytes float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	start := func() (*target, error) { return c.startServer(ctx, "sqlite", "memory") }
	if kind.contestant == nothingStored {
		start = func() (*target, error) { return startEcho(ctx) }
	}
	t, err := start()
	if err != nil {
		cancel()
		return 0, err
	}
	defer t.stop()
	defer cancel()
	before, err := t.settled()
	if err != nil {
		return 0, err
	}
	if err := kind.open(ctx, t, streams); err != nil {
		return 0, err
	}
	after, err := t.settled()
	return float64(after.InUse-before.InUse) / float64(streams), err
}

// settled returns what the server uses at rest. One collection frees what only the beginning needed, and each halves a stack that has
// become too large.
func (t *target) settled() (consumption, error) {
	last := consumption{InUse: math.MaxInt64}
	for {
		now, err := t.consumption()
		if err != nil || now.InUse >= last.InUse-last.InUse/100 {
			return now, err
		}
		last = now
	}
}
