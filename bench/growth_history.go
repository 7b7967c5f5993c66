package main

import (
	"context"
	"fmt"

	openintentv1 "openintent/gen/openintent/v1"
)

// shortHistory is the length of the channel whose lists are compared with those of the longest.
const shortHistory = 1000

const (
	inShort = "short channel"
	inLong  = "long channel"
	inOnly  = "short channel, alone"
)

// history lets one channel grow to the longest history. It measures sends and lists on that channel, and lists of a
// short channel among that many messages. For comparison it lists the only channel of another server.
func (g *grower) history(ctx context.Context) error {
	var open closers
	defer open.close()
	other, processes, err := g.ownServer(ctx, g.engine, "alone", &open)
	if err != nil {
		return err
	}
	alone := &grower{comparison: g.comparison, target: other, engine: g.engine, processes: processes}
	lonely, err := other.openChannel(ctx, keeping())
	if err != nil {
		return err
	}
	lonelyCursors, err := other.fill(ctx, lonely, shortHistory)
	if err != nil {
		return err
	}
	short, err := g.openChannel(ctx, keeping())
	if err != nil {
		return err
	}
	long, err := g.openChannel(ctx, keeping())
	if err != nil {
		return err
	}
	shortCursors, err := g.fill(ctx, short, shortHistory)
	if err != nil {
		return err
	}
	var longCursors []string
	stored := 0
	for _, size := range tens(shortHistory, g.messages) {
		cursors, err := g.fill(ctx, long, size-stored)
		if err != nil {
			return err
		}
		stored = size
		longCursors = append(longCursors, cursors...)
		contests := []contest{
			alone.listing(inOnly, lonely, lonelyCursors),
			g.listing(inShort, short, shortCursors),
			g.listing(inLong, long, longCursors),
			{row: row{doGrow, g.engine, growHistory}, processes: g.processes,
				measure: func(ctx context.Context, _ int) (figure, error) {
					return g.load(ctx, growing, g.grpcSender([]string{long}))
				}},
		}
		for range g.rounds {
			if err := g.take(ctx, []int{size}, contests); err != nil {
				return err
			}
		}
	}
	return nil
}

// listing lists after cursors in turn, with one caller. Its measurements are filed under the size of the history.
func (g *grower) listing(where, channel string, cursors []string) contest {
	client := openintentv1.NewMessageServiceClient(g.conn)
	limit := int32(listed)
	return contest{row: row{doList, viaGRPC + g.engine, where}, processes: g.processes,
		measure: func(ctx context.Context, _ int) (figure, error) {
			return g.load(ctx, 1, func(context.Context) (worker, error) {
				return func(ctx context.Context, n int) error {
					page, err := client.ListMessages(as(ctx, asker), &openintentv1.ListMessagesRequest{
						ChannelId: channel, Since: &cursors[n%len(cursors)], Limit: &limit,
					})
					if err == nil && len(page.GetMessages()) != listed {
						err = fmt.Errorf("a list has %d messages, not %d", len(page.GetMessages()), listed)
					}
					return err
				}, nil
			})
		}}
}

// listPublished makes the same list on the published server, which has no pages: it lists after a cursor a hundred
// messages before the end.
func (c *comparison) listPublished(ctx context.Context) error {
	if c.python == "" {
		return nil
	}
	p, err := c.startPublished(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	channels, err := p.openChannels(ctx, 1)
	if err != nil {
		return err
	}
	begin := p.lister(channels[0], shortHistory)
	list, err := begin(ctx)
	if err != nil {
		return err
	}
	for range c.rounds {
		err := c.takeOne(ctx, shortHistory, contest{
			row: row{doList, published, inShort}, processes: only(p.process.Process.Pid),
			measure: func(ctx context.Context, _ int) (figure, error) {
				return c.load(ctx, 1, func(context.Context) (worker, error) { return list, nil })
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
