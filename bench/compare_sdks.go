package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"openintent/server"
)

// doSDKAsk is an ask as a program makes it: with an SDK, to an agent that the same SDK runs.
const doSDKAsk = "ask, by an SDK"

const (
	publishedPackage = "published Python package"
	onOwnServer      = "its own server"
	onThisServer     = "this server, "
	// compatibleKey has the compatibility profile, which the published package needs.
	compatibleKey = "bench-compatible-key"
)

// sdkProgram describes how to start an SDK's load. After its arguments come `answer` or `ask`, the server, the key,
// the channel's id and the responder.
type sdkProgram struct {
	name, agent string
	// work is the load's job.
	work      string
	command   []string
	variables []string
}

// sdks measures the round trip of an ask with each SDK. The asker and the answering agent are separate processes.
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
	if c.python != "" {
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
		if err := c.take(ctx, sdkAskers, contests); err != nil {
			return err
		}
	}
	return nil
}

// sdkAskers is how many callers ask simultaneously.
var sdkAskers = []int{1, 64}

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
	contests := []contest{{
		row: row{doSDKAsk, "no SDK: bare calls and a channel's stream", where}, measure: c.by(t.asker(channels)), processes: processes,
	}}
	for i, program := range programs {
		measure, err := c.sdkAsks(ctx, program, t.address, channels[1+i], open)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program.name, err)
		}
		contests = append(contests, contest{row: row{doSDKAsk, program.name, where}, measure: measure, processes: processes})
	}
	if c.python == "" {
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

func (p sdkProgram) start(ctx context.Context, part, address, channel string) (*peer, error) {
	arguments := append(p.command[1:len(p.command):len(p.command)], part, address, server.DevelopmentKey, channel, p.agent)
	return startPeer(ctx, "env", append(append(p.variables[:len(p.variables):len(p.variables)], p.command[0]), arguments...)...)
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

// sdkPrograms prepares what each SDK's load needs. It leaves out an SDK whose language is not installed.
func (c *comparison) sdkPrograms(ctx context.Context) ([]sdkProgram, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	programs := []sdkProgram{{name: "Go SDK", agent: "go-responder", work: "ask", command: []string{own, sdkLoad}}}
	loads := filepath.Join(c.peers, "sdks")
	python, err := outputOf(ctx, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	if err != nil {
		c.leaveOut("the Python SDK, for which there is no Python")
	} else {
		command := []string{python, filepath.Join(loads, "ask.py")}
		source := []string{"PYTHONPATH=sdk/python/src"}
		programs = append(programs,
			sdkProgram{name: "Python SDK, threads", agent: "python-responder", work: "ask", command: command, variables: source},
			sdkProgram{name: "Python SDK, asyncio", agent: "asyncio-responder", work: "ask async", command: command, variables: source})
	}
	// The package is compiled again, so that it matches its sources.
	_, err = outputOf(ctx, "scripts/node-env.sh")
	if err == nil {
		_, err = outputOf(ctx, "npm", "--prefix", "sdk/typescript", "run", "--silent", "build")
	}
	if err != nil {
		c.leaveOut("the TypeScript SDK, for which there is no Node.js")
		return programs, nil
	}
	entry, err := filepath.Abs("sdk/typescript/dist/index.js")
	return append(programs, sdkProgram{
		name: "TypeScript SDK", agent: "typescript-responder", work: "ask",
		command: []string{"node", filepath.Join(loads, "ask.mjs"), entry},
	}), err
}

// outputOf returns the last line that a program prints.
func outputOf(ctx context.Context, program string, arguments ...string) (string, error) {
	run := exec.CommandContext(ctx, program, arguments...)
	run.Stderr = os.Stderr
	text, err := run.Output()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1], err
}

// sdkStarts is how long the part takes beyond its figures: the starts, and the longer time of the published package,
// including the ask that begins each of its measurements.
func (c *comparison) sdkStarts() time.Duration {
	longer := max(0, shortestSDKAsk+2*time.Second-c.duration)
	return 30*time.Second + time.Duration(c.rounds*len(sdkAskers)*(1+len(c.engines)))*longer
}
