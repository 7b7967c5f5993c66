package main

import (
	"context"
	"errors"
	"slices"
)

// doSDKSend is a send as a program makes it, through one client of an SDK, beside the same by bare calls and by JetStream's client.
const doSDKSend = "send, by an SDK"

// streamAsync publishes as JetStream's client does it best: no caller sends its message by itself, and each waits for its acknowledgement.
const streamAsync = streamAlways + ", asynchronous"

// sdkSends returns the sends through one client of the Go SDK, and those it is compared with. Each caller waits until its message is stored.
func (c *comparison) sdkSends(ctx context.Context, open *closers) (contests []contest, err error) {
	if !slices.Contains(c.sdkNames, byGo) {
		return nil, nil
	}
	for _, engine := range c.engines {
		some, err := c.goSends(ctx, engine, open)
		if err != nil {
			return nil, err
		}
		contests = append(contests, some...)
	}
	some, err := c.streamSends(ctx, open)
	return append(contests, some...), err
}

func (c *comparison) goSends(ctx context.Context, engine string, open *closers) ([]contest, error) {
	t, processes, err := c.ownServer(ctx, engine, "sdk_sends", open)
	if err != nil {
		return nil, err
	}
	channels, err := t.openChannels(ctx, 1)
	if err != nil {
		return nil, err
	}
	programs, err := c.goPrograms()
	if err != nil {
		return nil, err
	}
	sending, err := programs[0].start(ctx, "ask", t.address, channels[0])
	if err != nil {
		return nil, err
	}
	open.add(sending.stop)
	where := onThisServer + engine
	return []contest{
		{row: row{doSDKSend, bareCalls, where}, measure: c.by(t.grpcSender(channels)), processes: processes},
		{row: row{doSDKSend, goSDK, where}, measure: c.job(sending, "send", "", 1), processes: processes},
	}, nil
}

// streamSends returns JetStream's publishes, by its client's two ways, to a server that syncs each message.
func (c *comparison) streamSends(ctx context.Context, open *closers) (contests []contest, err error) {
	if c.program == "" {
		return nil, errors.New("the other servers were not built")
	}
	load, err := c.startLoad(ctx, open)
	if err != nil {
		return nil, err
	}
	nats, err := c.startNATS(ctx, "always")
	if err != nil {
		return nil, err
	}
	open.add(nats.stop)
	for name, work := range map[string]string{streamAlways: "publish", streamAsync: "publish async"} {
		contests = append(contests, contest{
			row: row{doSDKSend, name, onOwnServer}, measure: c.job(load, work, nats.address, 1),
			processes: only(nats.process.Process.Pid),
		})
	}
	return contests, nil
}

// exchangeAims are about what a busy client of an SDK gets, which puts its calls on one stream.
func exchangeAims(engine string) []aim {
	where := onThisServer + engine
	sent := row{doSDKSend, goSDK, where}
	return []aim{
		atLeast(3, "send through the Go SDK, 64 callers: of bare calls, "+engine, rates(sent, row{doSDKSend, bareCalls, where}, 64)),
		atLeast(6, "send through the Go SDK, 64 callers: times JetStream with sync always, "+engine,
			rates(sent, row{doSDKSend, streamAlways, onOwnServer}, 64)),
		atLeast(6, "send through the Go SDK, 64 callers: times JetStream's asynchronous publishing with sync always, "+engine,
			rates(sent, row{doSDKSend, streamAsync, onOwnServer}, 64)),
	}
}
