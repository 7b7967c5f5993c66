package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// These are the actions in the results' rows.
const (
	doSend   = "send"
	doStream = "send, on streams"
	doAsk    = "ask"
)

// These are the contestants. The names of this server's contestants end with the engine.
const (
	viaGRPC       = "this server, gRPC, "
	viaREST       = "this server, REST, "
	viaStream     = "this server, gRPC stream, "
	perMessage    = "one transaction a message, "
	bareInsert    = "bare group commit, postgres"
	pgbenchInsert = "pgbench, single-row insert"
	streamAlways  = "NATS JetStream, sync always"
	streamDefault = "NATS JetStream, default"
	natsBare      = "NATS request/reply"
	published     = "published Python server"
	publishedSDK  = "published Python server, its SDK"
	nothingStored = "gRPC, nothing stored"
)

const (
	oneChannel   = "one channel"
	manyChannels = "many channels"
)

// ownServer starts this server on a fresh database. Its processor time includes the database's.
func (c *comparison) ownServer(ctx context.Context, engine, name string, open *closers) (*target, func() []int, error) {
	t, err := c.startServer(ctx, engine, name)
	if err != nil {
		return nil, nil, err
	}
	open.add(t.stop)
	return t, c.processesOf(t, engine), nil
}

func (c *comparison) processesOf(t *target, engine string) func() []int {
	if engine == "postgres" {
		return together(only(t.process.Process.Pid), c.postgres)
	}
	return only(t.process.Process.Pid)
}

// sends measures sends of about 500 bytes, each waiting for its acknowledgement, from few callers to many.
func (c *comparison) sends(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	add := func(some []contest, err error) error {
		contests = append(contests, some...)
		return err
	}
	var streamed []contest
	for _, engine := range c.engines {
		own, stream, err := c.ownSends(ctx, engine, &open)
		if err != nil {
			return err
		}
		contests, streamed = append(contests, own...), append(streamed, stream)
	}
	floor, err := startEcho(ctx)
	if err != nil {
		return err
	}
	open.add(floor.stop)
	contests = append(contests, contest{
		row: row{doSend, nothingStored, "-"}, measure: c.by(floor.grpcSender(echoChannels())), processes: only(floor.process.Process.Pid),
	})
	if err := add(c.publishedSends(ctx, &open)); err != nil {
		return err
	}
	if err := add(c.peerSends(ctx, &open)); err != nil {
		return err
	}
	if err := add(c.pgbench(ctx)); err != nil {
		return err
	}
	for range c.rounds {
		if err := c.take(ctx, c.callers, contests); err != nil {
			return err
		}
		if err := c.take(ctx, busyStreams, streamed); err != nil {
			return err
		}
	}
	return nil
}

// places returns the channels that sends go to: one, and many.
func (c *comparison) places(ctx context.Context, open func(context.Context, int) ([]string, error)) (map[string][]string, error) {
	many, err := open(ctx, c.channels)
	if err != nil {
		return nil, err
	}
	one, err := open(ctx, 1)
	return map[string][]string{oneChannel: one, manyChannels: many}, err
}

// ownSends returns the ways to send to this server. Streams are separate, because they are measured at other numbers.
func (c *comparison) ownSends(
	ctx context.Context, engine string, open *closers,
) (contests []contest, streamed contest, err error) {
	t, processes, err := c.ownServer(ctx, engine, "server", open)
	if err != nil {
		return nil, streamed, err
	}
	places, err := c.places(ctx, t.openChannels)
	if err != nil {
		return nil, streamed, err
	}
	streamed = contest{
		row: row{doStream, viaStream + engine, oneChannel}, measure: c.streamed(t, places[oneChannel][0]), processes: processes,
	}
	for _, where := range []string{oneChannel, manyChannels} {
		contests = append(contests,
			contest{row: row{doSend, viaGRPC + engine, where}, measure: c.by(t.grpcSender(places[where])), processes: processes},
			contest{row: row{doSend, viaREST + engine, where}, measure: c.by(t.restSender(places[where])), processes: processes})
	}
	if engine != "postgres" {
		return contests, streamed, nil
	}
	url, err := c.databaseURL(ctx, engine, "single")
	if err != nil {
		return nil, streamed, err
	}
	single, err := openBaseline(ctx, url)
	if err != nil {
		return nil, streamed, err
	}
	open.add(single.close)
	for _, where := range []string{oneChannel, manyChannels} {
		contests = append(contests, contest{
			row: row{doSend, perMessage + engine, where}, measure: c.by(single.sender(len(places[where]))), processes: c.postgres,
		})
	}
	return contests, streamed, nil
}

func (c *comparison) publishedSends(ctx context.Context, open *closers) (contests []contest, err error) {
	if c.python == "" {
		return nil, nil
	}
	p, err := c.startPublished(ctx)
	if err != nil {
		return nil, err
	}
	open.add(p.stop)
	places, err := c.places(ctx, p.openChannels)
	if err != nil {
		return nil, err
	}
	for _, where := range []string{oneChannel, manyChannels} {
		contests = append(contests, contest{
			row: row{doSend, published, where}, measure: c.by(p.sender(places[where])), processes: only(p.process.Process.Pid),
		})
	}
	return contests, nil
}

// startLoad starts the process that drives the servers whose protocols this program does not know.
func (c *comparison) startLoad(ctx context.Context, open *closers) (*peer, error) {
	load, err := startPeer(ctx, c.program, "drive")
	if err == nil {
		open.add(load.stop)
	}
	return load, err
}

// peerSends returns JetStream's publishes, and the bare group commit, whose table is like the server's.
func (c *comparison) peerSends(ctx context.Context, open *closers) (contests []contest, err error) {
	load, err := c.startLoad(ctx, open)
	if err != nil {
		return nil, err
	}
	url, err := c.migratedDatabase(ctx, os.Getenv(postgresSetting), "bare")
	if err != nil {
		return nil, err
	}
	where := []string{oneChannel, manyChannels}
	channels := map[string]int{oneChannel: 1, manyChannels: c.channels}
	for _, where := range where {
		contests = append(contests, contest{
			row: row{doSend, bareInsert, where}, measure: c.job(load, "insert", url, channels[where]),
			processes: together(only(load.process.Process.Pid), c.postgres),
		})
	}
	for _, peer := range []struct {
		name     string
		settings []string
	}{{streamAlways, []string{"always"}}, {streamDefault, nil}} {
		nats, err := c.startNATS(ctx, peer.settings...)
		if err != nil {
			return nil, err
		}
		open.add(nats.stop)
		for _, where := range where {
			contests = append(contests, contest{
				row: row{doSend, peer.name, where}, measure: c.job(load, "publish", nats.address, channels[where]),
				processes: only(nats.process.Process.Pid),
			})
		}
	}
	return contests, nil
}

// migratedDatabase returns a fresh database with the server's tables: a server has started on it and ended.
func (c *comparison) migratedDatabase(ctx context.Context, maintenance, name string) (string, error) {
	url, err := createDatabase(ctx, maintenance, fmt.Sprintf("%s_%d", name, time.Now().UnixMicro()))
	if err != nil {
		return "", err
	}
	t, err := startReplica(ctx, url)
	if err != nil {
		return "", err
	}
	t.stop()
	return url, nil
}
