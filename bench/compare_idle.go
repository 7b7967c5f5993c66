package main

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	doIdle = "idle stream"
	// followingOneself is the stream of an agent that follows whatever reaches it.
	followingOneself = "the agent's own"
)

// idleKinds are the kinds of idle streams whose memory is measured. SQLite stands for both engines, because a stream's
// memory does not depend on the engine.
var idleKinds = []struct {
	row
	request func(channel string, n int) *openintentv1.SubscribeRequest
}{
	{row{doIdle, viaGRPC + "sqlite", oneChannel}, func(channel string, _ int) *openintentv1.SubscribeRequest { return onChannel(channel) }},
	{row{doIdle, viaGRPC + "sqlite", followingOneself}, func(_ string, n int) *openintentv1.SubscribeRequest { return onAgent(n) }},
	{row{doIdle, nothingStored, oneChannel}, func(string, int) *openintentv1.SubscribeRequest { return onChannel(fanOutChannel) }},
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
			each, err := c.idleStream(ctx, kind.contestant == nothingStored, streams, kind.request)
			if err != nil {
				return err
			}
			c.figures.add(kind.row, streams, measurement{figure: figure{perSecond: each}})
		}
	}
	return nil
}

func (c *comparison) idleStream(
	ctx context.Context, bare bool, streams int, request func(channel string, n int) *openintentv1.SubscribeRequest,
) (bytes float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	start := func() (*target, error) { return c.startServer(ctx, "sqlite", "memory") }
	if bare {
		start = func() (*target, error) { return startEcho(ctx) }
	}
	t, err := start()
	if err != nil {
		cancel()
		return 0, err
	}
	defer t.stop()
	defer cancel()
	var channel string
	if !bare {
		opened, err := t.openChannels(ctx, 1)
		if err != nil {
			return 0, err
		}
		channel = opened[0]
	}
	// The second collection frees what only the start needed.
	if _, err := t.consumption(); err != nil {
		return 0, err
	}
	before, err := t.consumption()
	if err != nil {
		return 0, err
	}
	if _, err := t.follow(ctx, 0, streams, func(n int) *openintentv1.SubscribeRequest { return request(channel, n) }); err != nil {
		return 0, err
	}
	after, err := t.consumption()
	return float64(after.InUse-before.InUse) / float64(streams), err
}
