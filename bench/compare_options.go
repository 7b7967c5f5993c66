package main

import (
	"context"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	doFanOut   = "fan-out"
	doAudited  = "send, audit"
	doNotified = "send, notifications"

	switchedOn  = "on"
	switchedOff = "off"
)

// fanOuts measures one sender whose messages go to many streams. A unit is a message that every stream has received.
func (c *comparison) fanOuts(ctx context.Context) error {
	var open closers
	defer open.close()
	var targets []contest // measured below
	channels := make(map[row]string)
	servers := make(map[row]*target)
	add := func(name, channel string, t *target, processes func() []int) {
		r := row{doFanOut, name, oneChannel}
		channels[r], servers[r] = channel, t
		targets = append(targets, contest{row: r, processes: processes})
	}
	for _, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "fanout", &open)
		if err != nil {
			return err
		}
		opened, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		add(viaGRPC+engine, opened[0], t, processes)
	}
	bare, err := startEcho(ctx)
	if err != nil {
		return err
	}
	open.add(bare.stop)
	add(nothingStored, fanOutChannel, bare, only(bare.process.Process.Pid))
	for i, contest := range targets {
		// For this contest, the number of callers is the number of streams.
		targets[i].measure = func(ctx context.Context, streams int) (figure, error) {
			return c.load(ctx, underWay, servers[contest.row].broadcaster(channels[contest.row], streams, nil))
		}
	}
	for range c.rounds {
		if err := c.take(ctx, c.streams, targets); err != nil {
			return err
		}
	}
	return nil
}

// options measures the cost of features that can be switched on.
func (c *comparison) options(ctx context.Context) error {
	for _, engine := range c.engines {
		if err := c.audited(ctx, engine); err != nil {
			return err
		}
	}
	return c.notified(ctx)
}

func (c *comparison) audited(ctx context.Context, engine string) error {
	var open closers
	defer open.close()
	t, processes, err := c.ownServer(ctx, engine, "audit", &open)
	if err != nil {
		return err
	}
	var contests []contest
	for _, name := range []string{switchedOn, switchedOff} {
		audit := name == switchedOn
		channel, err := t.openChannel(ctx, &openintentv1.CreateChannelRequest{
			Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(keepAll), Audit: &audit},
		})
		if err != nil {
			return err
		}
		contests = append(contests, contest{
			row: row{doAudited, viaGRPC + engine, name}, measure: c.by(t.grpcSender([]string{channel})), processes: processes,
		})
	}
	return c.takeTurns(ctx, contests)
}

// notified measures sends while a second replica listens, with and without notifying it.
func (c *comparison) notified(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	for _, setting := range []struct {
		name        string
		environment []string
	}{{switchedOn, nil}, {switchedOff, []string{childAlone + "=1"}}} {
		t, done, err := c.startPair(ctx, "postgres", "notified_"+setting.name, setting.environment...)
		if err != nil {
			return err
		}
		open.add(done)
		one, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		contests = append(contests, contest{
			row: row{doNotified, viaGRPC + "postgres", setting.name}, measure: c.by(t.grpcSender(one)),
			processes: c.processesOf(t, "postgres"),
		})
	}
	return c.takeTurns(ctx, contests)
}

// takeTurns measures at the number of callers with which options are compared.
func (c *comparison) takeTurns(ctx context.Context, contests []contest) error {
	for range c.rounds {
		if err := c.take(ctx, []int{notifying}, contests); err != nil {
			return err
		}
	}
	return nil
}

// openChannel opens a channel in a new intent.
func (t *target) openChannel(ctx context.Context, request *openintentv1.CreateChannelRequest) (string, error) {
	intent, err := openintentv1.NewIntentServiceClient(t.conn).CreateIntent(as(ctx, asker),
		&openintentv1.CreateIntentRequest{Title: "bench"})
	if err != nil {
		return "", err
	}
	request.IntentId, request.Name = intent.GetId(), "bench"
	channel, err := openintentv1.NewChannelServiceClient(t.conn).CreateChannel(as(ctx, asker), request)
	return channel.GetId(), err
}
