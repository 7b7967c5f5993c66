package main

import (
	"context"
	"fmt"
)

// These are the series that the aims compare.
var (
	unarySends     = series{"send, gRPC", "one channel"}
	pipelinedSends = series{"send, pipelined", "one channel"}
)

// send measures sends and asks, and for comparison the design that group commit replaces and the floor of an ask.
func (p plan) send(ctx context.Context, engine string) error {
	server, err := p.startServer(ctx, engine, "server")
	if err != nil {
		return err
	}
	defer server.stop()
	floor, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer floor.stop()
	url, err := p.databaseURL(ctx, engine, "baseline")
	if err != nil {
		return err
	}
	baseline, err := openBaseline(ctx, url)
	if err != nil {
		return err
	}
	defer baseline.close()
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		if err := p.sendRound(ctx, server, floor, baseline, all); err != nil {
			return err
		}
	}
	all.print(engine)
	return nil
}

// sendRound lets the contestants take turns.
func (p plan) sendRound(ctx context.Context, server, floor *target, baseline *baseline, all *results) error {
	one, err := server.openChannels(ctx, 1)
	if err != nil {
		return err
	}
	many, err := server.openChannels(ctx, p.channels)
	if err != nil {
		return err
	}
	for _, callers := range p.callers {
		for _, load := range []struct {
			series series
			work   func(context.Context) (worker, error)
		}{
			{unarySends, server.grpcSender(one)},
			{series{"send, gRPC", "many channels"}, server.grpcSender(many)},
			{series{"send, REST", "one channel"}, server.restSender(one)},
			{series{"send, REST", "many channels"}, server.restSender(many)},
			{series{"one transaction a message", "one channel"}, baseline.sender(1)},
			{series{"one transaction a message", "many channels"}, baseline.sender(p.channels)},
			{series{"ask", "one channel"}, server.asker(one)},
			{series{"ask, nothing stored", "one channel"}, floor.asker(echoChannels())},
		} {
			before := server.batches(ctx)
			measured, err := p.load(ctx, callers, load.work)
			if err != nil {
				return fmt.Errorf("%s, %s, %d callers: %w", load.series.name, load.series.where, callers, err)
			}
			measured.batch = server.batches(ctx).since(before)
			all.add(load.series, callers, measured)
		}
	}
	before := server.batches(ctx)
	pipelined, err := p.pipelined(ctx, server, one[0])
	if err != nil {
		return fmt.Errorf("pipelined: %w", err)
	}
	pipelined.batch = server.batches(ctx).since(before)
	all.add(pipelinedSends, pipelines, pipelined)
	commits, err := p.load(ctx, 1, baseline.committer())
	if err != nil {
		return err
	}
	all.add(series{"single-row commit", "-"}, 1, commits)
	return nil
}
