package main

import (
	"context"
	"fmt"
	"time"

	"openintent/server"
)

// shortestSDKAsk is the shortest time for which asks of the published client are measured: the client polls every
// half second.
const shortestSDKAsk = 2 * time.Second

// singleCommit is a part of an ask's floor, beside the calls with nothing stored.
var singleCommit = row{"single-row commit", "postgres", "-"}

// askers returns how many callers ask simultaneously.
func (c *comparison) askers() (callers []int) {
	for _, n := range c.callers {
		if n <= 64 {
			callers = append(callers, n)
		}
	}
	return callers
}

// asks measures questions with their answers, from asker to responder and back.
func (c *comparison) asks(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	for _, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "asks", &open)
		if err != nil {
			return err
		}
		channels, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		contests = append(contests, contest{
			row: row{doAsk, viaGRPC + engine, oneChannel}, measure: c.by(t.asker(channels)), processes: processes,
		})
	}
	floor, err := startEcho(ctx)
	if err != nil {
		return err
	}
	open.add(floor.stop)
	contests = append(contests, contest{
		row: row{doAsk, nothingStored, "-"}, measure: c.by(floor.asker(echoChannels())), processes: only(floor.process.Process.Pid),
	})
	peers, err := c.peerAsks(ctx, &open)
	if err != nil {
		return err
	}
	contests = append(contests, peers...)
	url, err := c.databaseURL(ctx, "postgres", "commits")
	if err != nil {
		return err
	}
	single, err := openBaseline(ctx, url)
	if err != nil {
		return err
	}
	open.add(single.close)
	commits := []contest{{row: singleCommit, measure: func(ctx context.Context, callers int) (figure, error) {
		return c.load(ctx, callers, single.committer()) // a committer stores new rows
	}}}
	for range c.rounds {
		if err := c.take(ctx, []int{1}, commits); err != nil {
			return err
		}
		if err := c.take(ctx, c.askers(), contests); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) peerAsks(ctx context.Context, open *closers) (contests []contest, err error) {
	load, err := c.startLoad(ctx, open)
	if err != nil {
		return nil, err
	}
	for _, peer := range []struct {
		name, work string
		settings   []string
	}{
		{streamAlways, "ask", []string{"always"}},
		{streamDefault, "ask", nil},
		{natsBare, "request", nil},
	} {
		nats, err := c.startNATS(ctx, peer.settings...)
		if err != nil {
			return nil, err
		}
		open.add(nats.stop)
		contests = append(contests, contest{
			row: row{doAsk, peer.name, "-"}, measure: c.job(load, peer.work, nats.address, 1), processes: only(nats.process.Process.Pid),
		})
	}
	if c.python == "" {
		return contests, nil
	}
	p, err := c.startPublished(ctx)
	if err != nil {
		return nil, err
	}
	open.add(p.stop)
	client, err := startPeer(ctx, c.python, c.peers+"/published.py", p.base, server.DevelopmentKey)
	if err != nil {
		return nil, err
	}
	open.add(client.stop)
	return append(contests, contest{
		row: row{doAsk, publishedSDK, oneChannel},
		measure: func(_ context.Context, callers int) (figure, error) {
			return client.do(job{Work: "ask", Callers: callers, Seconds: max(c.duration, shortestSDKAsk).Seconds()})
		},
		processes: only(p.process.Process.Pid), lasting: max(c.duration, shortestSDKAsk),
	}), nil
}

// floor returns the least time that an ask can take with one caller: its calls with nothing stored, and two commits.
func (f *figures) floor() (float64, bool) {
	calls, measured := f.median(row{doAsk, nothingStored, "-"}, 1, medianSeconds)
	commit, committed := f.median(singleCommit, 1, medianSeconds)
	return calls + 2*commit, measured && committed
}

// describeFloor describes what the floor consists of.
func (f *figures) describeFloor() string {
	calls, _ := f.median(row{doAsk, nothingStored, "-"}, 1, medianSeconds)
	commit, _ := f.median(singleCommit, 1, medianSeconds)
	return fmt.Sprintf("The floor of an ask at one caller is its calls with nothing stored (%.3f ms) and two single-row commits (%.3f ms each).",
		1000*calls, 1000*commit)
}
