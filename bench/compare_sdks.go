package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"openintent/server"
)

// doSDKAsk is an ask as a program makes it: with an SDK, to an agent that the same SDK runs.
const doSDKAsk = "ask, by an SDK"

const (
	publishedPackage = "published Python package"
	onOwnServer      = "its own server"
	onThisServer     = "this server, "
	onEchoServer     = "a server that stores nothing"
	// compatibleKey has the compatibility profile, which the published package needs.
	compatibleKey = "bench-compatible-key"

	bareCalls     = "no SDK: bare calls and a channel's stream"
	goSDK         = "Go SDK"
	asyncioSDK    = "Python SDK, asyncio"
	typeScriptSDK = "TypeScript SDK"
	// The gRPC libraries that the SDKs use.
	asyncioLibrary    = "grpc.aio alone"
	typeScriptLibrary = "Connect alone"
	echoSuffix        = ", an ask's calls"
)

// sdks measures the round trip of an ask with each SDK, and sends with the Go SDK. The asker and the answering agent are separate processes.
func (c *comparison) sdks(ctx context.Context) error {
	programs, err := c.sdkPrograms(ctx)
	if err != nil {
		return err
	}
	var open closers
	defer open.close()
	var contests []contest
	for _, engine := range c.engines {
		some, err := c.sdkContests(ctx, engine, programs, &open)
		if err != nil {
			return err
		}
		contests = append(contests, some...)
	}
	echoes, err := c.sdkEchoes(ctx, programs, &open)
	if err != nil {
		return err
	}
	contests = append(contests, echoes...)
	sends, err := c.sdkSends(ctx, &open)
	if err != nil {
		return err
	}
	contests = append(contests, sends...)
	if c.asksPublished() {
		p, err := c.startPublished(ctx)
		if err != nil {
			return err
		}
		open.add(p.stop)
		asks, err := c.publishedAsks(ctx, onOwnServer, p.base, only(p.process.Process.Pid), &open)
		if err != nil {
			return err
		}
		contests = append(contests, asks)
	}
	for range c.rounds {
		if err := c.take(ctx, c.sdkAskers(), contests); err != nil {
			return err
		}
	}
	return nil
}

// sdkAskers returns how many callers ask simultaneously.
func (c *comparison) sdkAskers() (callers []int) {
	for _, n := range c.callers {
		if n == 1 || n == 64 {
			callers = append(callers, n)
		}
	}
	return callers
}

// asksPublished reports whether the published package asks as well.
func (c *comparison) asksPublished() bool {
	return c.python != "" && slices.Contains(c.sdkNames, byPublished)
}

// sdkFigures is about how many figures a round of the part has.
func (c *comparison) sdkFigures() int {
	return len(c.sdkAskers()) * (6 + (2+len(c.sdkNames))*len(c.engines))
}

// sdkEchoes returns the asks by the SDKs' gRPC libraries alone. Each load has its own server.
func (c *comparison) sdkEchoes(ctx context.Context, programs []sdkProgram, open *closers) (contests []contest, err error) {
	for _, program := range programs {
		for _, echo := range program.echoes {
			t, err := startEcho(ctx)
			if err != nil {
				return nil, err
			}
			open.add(t.stop)
			measure, err := c.sdkAsks(ctx, echo, t.address, echoChannels()[0], open)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", echo.name, err)
			}
			contests = append(contests, contest{
				row: row{doSDKAsk, echo.name, onEchoServer}, measure: measure, processes: only(t.process.Process.Pid),
			})
		}
	}
	return contests, nil
}

// sdkContests returns the contests on this server with one engine: bare calls, each SDK, and the published package.
func (c *comparison) sdkContests(ctx context.Context, engine string, programs []sdkProgram, open *closers) ([]contest, error) {
	t, processes, err := c.ownServer(ctx, engine, "sdks", open)
	if err != nil {
		return nil, err
	}
	channels, err := t.openChannels(ctx, 1+len(programs))
	if err != nil {
		return nil, err
	}
	where := onThisServer + engine
	var contests []contest
	if slices.Contains(c.sdkNames, byBareCalls) {
		contests = append(contests, contest{row: row{doSDKAsk, bareCalls, where}, measure: c.by(t.asker(channels)), processes: processes})
	}
	for i, program := range programs {
		measure, err := c.sdkAsks(ctx, program, t.address, channels[1+i], open)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program.name, err)
		}
		contests = append(contests, contest{row: row{doSDKAsk, program.name, where}, measure: measure, processes: processes})
	}
	if !c.asksPublished() {
		return contests, nil
	}
	asks, err := c.publishedAsks(ctx, where, t.base, processes, open)
	return append(contests, asks), err
}

// sdkAsks starts an answering agent and the load that asks it.
func (c *comparison) sdkAsks(
	ctx context.Context, program sdkProgram, address, channel string, open *closers,
) (func(context.Context, int) (figure, error), error) {
	answering, err := program.start(ctx, "answer", address, channel)
	if err != nil {
		return nil, err
	}
	open.add(answering.stop)
	var ready struct{ Ready bool }
	if err := answering.output.Decode(&ready); err != nil || !ready.Ready {
		return nil, errors.Join(errors.New("the agent did not start"), err)
	}
	asking, err := program.start(ctx, "ask", address, channel)
	if err != nil {
		return nil, err
	}
	open.add(asking.stop)
	return c.job(asking, program.work, "", 1), nil
}

// publishedAsks makes the published package's client ask on a server.
func (c *comparison) publishedAsks(
	ctx context.Context, where, base string, processes func() []int, open *closers,
) (contest, error) {
	key := compatibleKey
	if where == onOwnServer {
		key = server.DevelopmentKey
	}
	client, err := startPeer(ctx, c.python, c.peers+"/published.py", base, key)
	if err != nil {
		return contest{}, err
	}
	open.add(client.stop)
	lasting := max(c.duration, shortestSDKAsk)
	return contest{
		row: row{doSDKAsk, publishedPackage, where}, processes: processes, lasting: lasting,
		measure: func(_ context.Context, callers int) (figure, error) {
			return client.do(job{Work: "ask", Callers: callers, Seconds: lasting.Seconds()})
		},
	}, nil
}

// sdkStarts is how long the part takes beyond its figures: the starts, and the longer time of the published package,
// including the ask that begins each of its measurements.
func (c *comparison) sdkStarts() time.Duration {
	starts := 30 * time.Second
	if !c.asksPublished() {
		return starts
	}
	longer := max(0, shortestSDKAsk+2*time.Second-c.duration)
	return starts + time.Duration(c.rounds*len(c.sdkAskers())*(1+len(c.engines)))*longer
}
