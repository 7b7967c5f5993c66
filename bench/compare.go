package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// comparison is a run that measures this server beside others, in turns. What it holds to is in compare/doc.go.
type comparison struct {
	plan
	// messages is how many messages the longest history has.
	messages int
	// output is the directory that the results are written to.
	output string
	// peers is the directory of the module with the other servers, program what was built of it, and python an
	// interpreter that has the published server.
	peers, program, python string
	// postgres finds the processes of PostgreSQL.
	postgres func() []int
	figures  *figures
	// leftOut says what was not measured, and why.
	leftOut []string
}

// comparisonParts are what can be measured by itself, in order.
var comparisonParts = []struct {
	name string
	run  func(*comparison, context.Context) error
}{
	{"send", (*comparison).sends},
	{"ask", (*comparison).asks},
	{"disk", (*comparison).slowDisk},
	{"fanout", (*comparison).fanOuts},
	{"options", (*comparison).options},
	{"growth", (*comparison).growth},
}

// compare runs the comparison that the arguments ask for.
func compare(arguments []string) error {
	names := make([]string, len(comparisonParts))
	for i, part := range comparisonParts {
		names[i] = part.name
	}
	all := strings.Join(names, ",")
	c := &comparison{figures: newFigures()}
	flags := flag.NewFlagSet("bench compare", flag.ExitOnError)
	only := flags.String("only", all, "which parts to measure, comma-separated")
	callers := flags.String("callers", "1,16,64,256", "how many callers send at once, comma-separated")
	streams := flags.String("streams", "1,100,1000", "how many streams follow one sender, comma-separated")
	engines := flags.String("engines", "postgres,sqlite", "engines to measure")
	flags.IntVar(&c.channels, "channels", 1000, "how many channels \"many\" are")
	flags.IntVar(&c.messages, "messages", 1_000_000, "how many messages the longest history has")
	flags.DurationVar(&c.duration, "duration", time.Second, "how long each figure is measured in each round")
	flags.IntVar(&c.rounds, "rounds", 3, "how often the whole is measured; figures are medians")
	flags.StringVar(&c.output, "output", "bench", "directory for RESULTS.md and the plots")
	flags.StringVar(&c.peers, "peers", "bench/compare", "directory of the module with the other servers")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	c.callers, c.streams = numbers(*callers), numbers(*streams)
	c.engines, c.only = strings.Split(*engines, ","), strings.Split(*only, ",")
	for _, name := range c.only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no part %q; the parts are %s", name, all)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return c.run(ctx)
}

func (c *comparison) run(ctx context.Context) (err error) {
	if os.Getenv(postgresSetting) == "" {
		return errors.New(postgresSetting + " is not set; run make bench-compare, which starts a PostgreSQL")
	}
	if c.scratch, err = os.MkdirTemp("", "openintent-bench"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(c.scratch) }()
	// PostgreSQL, which runs as another user, is to read what is built here.
	if err := os.Chmod(c.scratch, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	started := time.Now()
	machine := describeMachine(ctx, c)
	for _, part := range comparisonParts {
		if !slices.Contains(c.only, part.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s after %s\n", part.name, time.Since(started).Round(time.Second))
		if err := part.run(c, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return c.report(machine, started)
}

// prepare builds the other servers.
func (c *comparison) prepare(ctx context.Context) error {
	c.program = filepath.Join(c.scratch, "peers")
	build := exec.CommandContext(ctx, "go", "build", "-C", c.peers, "-o", c.program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("the other servers in %s cannot be built: %w", c.peers, err)
	}
	var err error
	if c.postgres, err = postgresProcesses(ctx, os.Getenv(postgresSetting)); err != nil {
		return err
	}
	if c.python = os.Getenv("OPENINTENT_BENCH_PYTHON"); c.python == "" {
		c.leaveOut("the published Python server, as OPENINTENT_BENCH_PYTHON is not set; make bench-compare sets it")
	}
	return nil
}

func (c *comparison) leaveOut(what string) {
	fmt.Fprintln(os.Stderr, "left out:", what)
	c.leftOut = append(c.leftOut, what)
}

// contest is one way to do something, which takes turns with others.
type contest struct {
	row
	measure func(ctx context.Context, callers int) (figure, error)
	// processes are those whose processor time counts as the contestant's; it excludes the load's.
	processes func() []int
	// lasting is how long it measures, if not as long as the plan says.
	lasting time.Duration
}

// closers end what a part has started, the last first.
type closers []func()

func (c *closers) add(stop func()) { *c = append(*c, stop) }

func (c *closers) close() {
	for _, stop := range slices.Backward(*c) {
		stop()
	}
}

// take lets contestants take turns at each number of callers.
func (c *comparison) take(ctx context.Context, callers []int, contests []contest) error {
	for _, n := range callers {
		for _, contest := range contests {
			if err := c.takeOne(ctx, n, contest); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comparison) takeOne(ctx context.Context, callers int, contest contest) error {
	var before, after time.Duration
	if contest.processes != nil {
		before = processorOf(contest.processes())
	}
	measured, err := contest.measure(ctx, callers)
	if err != nil {
		return fmt.Errorf("%s, %s, %s, %d: %w", contest.what, contest.contestant, contest.where, callers, err)
	}
	if contest.processes != nil {
		after = processorOf(contest.processes())
	}
	lasting := contest.lasting
	if lasting == 0 {
		lasting = c.duration
	}
	units := measured.perSecond * lasting.Seconds()
	c.figures.add(contest.row, callers, measurement{figure: measured, processor: time.Duration(float64(after-before) / units)})
	return nil
}

// by makes a measure of a load by the bench's own clients.
func (c *comparison) by(begin func(context.Context) (worker, error)) func(context.Context, int) (figure, error) {
	return func(ctx context.Context, callers int) (figure, error) { return c.load(ctx, callers, begin) }
}
