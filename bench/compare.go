package main

import (
	"cmp"
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

// comparison is a run that measures this server and others in turns. compare/doc.go lists the rules that it follows.
type comparison struct {
	plan
	// messages is how many messages the longest history has.
	messages int
	// output is the directory for the results.
	output string
	// peers is the directory of the module with the other servers, program is the binary that is built from it, and
	// python is an interpreter that has the published server.
	peers, program, python string
	// postgres returns the processes of PostgreSQL.
	postgres func() []int
	// sdkNames are the SDKs that the part sdks measures.
	sdkNames []string
	figures  *figures
	// started is when the measuring began, and expected is about how long it takes in total.
	started  time.Time
	expected time.Duration
	// leftOut lists what was not measured, and why.
	leftOut []string
}

// comparisonPart is a part that can be measured alone.
type comparisonPart struct {
	name string
	run  func(*comparison, context.Context) error
	// figures is about how many figures a round takes, and apart is how long everything else takes in total.
	figures func(*comparison) int
	apart   func(*comparison) time.Duration
	// peers says that the part measures the other servers that are built, and published that it measures the published one.
	peers, published bool
}

// comparisonParts are in the order of measurement.
var comparisonParts = []comparisonPart{
	{
		name: "send", run: (*comparison).sends, peers: true, published: true,
		figures: func(c *comparison) int { return (12+4*len(c.engines))*len(c.callers) + 2*len(c.engines) },
		apart:   starting(20 * time.Second),
	},
	{
		name: "ask", run: (*comparison).asks, peers: true, published: true,
		figures: func(c *comparison) int { return 1 + (6+len(c.engines))*len(c.askers()) }, apart: starting(10 * time.Second),
	},
	{
		name: "disk", run: (*comparison).slowDisk, peers: true,
		figures: func(c *comparison) int { return 3 * len(c.callers) }, apart: starting(10 * time.Second),
	},
	{
		name: "fanout", run: (*comparison).fanOuts,
		figures: func(c *comparison) int { return (1 + len(c.engines)) * len(c.streams) }, apart: starting(20 * time.Second),
	},
	{
		name: "options", run: (*comparison).options,
		figures: func(c *comparison) int { return 2*len(c.engines) + 2 }, apart: starting(10 * time.Second),
	},
	{
		name: "agents", run: (*comparison).broadcasts,
		figures: func(c *comparison) int { return 2 * len(c.engines) * len(broadcasting) }, apart: (*comparison).gathering,
	},
	{
		name: "stored", run: (*comparison).storedFirst,
		figures: func(c *comparison) int { return 2 * len(c.engines) * len(broadcasting) }, apart: (*comparison).gathering,
	},
	{
		name: "webhooks", run: (*comparison).posts,
		figures: func(c *comparison) int { return len(c.engines) * len(broadcasting) }, apart: (*comparison).gathering,
	},
	{name: "idle", run: (*comparison).idleMemory, figures: func(*comparison) int { return 0 }, apart: (*comparison).opening},
	{name: "sdks", run: (*comparison).sdks, peers: true, published: true, figures: (*comparison).sdkFigures, apart: (*comparison).sdkStarts},
	{name: "growth", run: (*comparison).growth, figures: (*comparison).growthFigures, apart: (*comparison).filling},
}

func starting(takes time.Duration) func(*comparison) time.Duration {
	return func(*comparison) time.Duration { return takes }
}

// chosen returns the parts to measure.
func (c *comparison) chosen() []comparisonPart {
	return slices.DeleteFunc(slices.Clone(comparisonParts), func(p comparisonPart) bool { return !slices.Contains(c.only, p.name) })
}

// takes returns about how long a part takes.
func (c *comparison) takes(p comparisonPart) time.Duration {
	return time.Duration(c.rounds*p.figures(c))*c.duration + p.apart(c)
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
	sdks := flags.String("sdks", strings.Join(sdkNames, ","), "which SDKs the part sdks measures, comma-separated")
	callers := flags.String("callers", "1,16,64,256", "how many callers send simultaneously, comma-separated")
	streams := flags.String("streams", "1,100,1000", "how many streams follow one sender, comma-separated")
	engines := flags.String("engines", "postgres,sqlite", "engines to measure")
	flags.IntVar(&c.channels, "channels", 1000, "how many channels \"many\" are")
	flags.IntVar(&c.messages, "messages", 1_000_000, "how many messages the longest history has")
	flags.DurationVar(&c.duration, "duration", time.Second, "how long each figure is measured in each round")
	flags.IntVar(&c.rounds, "rounds", 3, "how many rounds are measured; figures are medians")
	flags.StringVar(&c.output, "output", "bench", "directory for RESULTS.md and the plots")
	flags.StringVar(&c.peers, "peers", "bench/compare", "directory of the module with the other servers")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	c.callers, c.streams = numbers(*callers), numbers(*streams)
	c.engines, c.only, c.sdkNames = strings.Split(*engines, ","), strings.Split(*only, ","), strings.Split(*sdks, ",")
	for _, name := range c.sdkNames {
		if !slices.Contains(sdkNames, name) {
			return fmt.Errorf("there is no SDK %q; the SDKs are %s", name, strings.Join(sdkNames, ", "))
		}
	}
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
	// PostgreSQL runs as another user and must be able to read what is built here.
	if err := os.Chmod(c.scratch, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	machine := describeMachine(ctx, c)
	for _, part := range c.chosen() {
		fmt.Fprintf(os.Stderr, "%-8s takes about %s\n", part.name, c.takes(part).Round(time.Second))
		c.expected += c.takes(part)
	}
	fmt.Fprintf(os.Stderr, "%-8s takes about %s\n", "all", c.expected.Round(time.Second))
	c.started = time.Now()
	failed := c.measure(ctx)
	return errors.Join(failed, c.report(machine))
}

// measure measures one part after the other. A part that fails does not prevent the measurement of the others, and
// what it measured before its failure counts.
func (c *comparison) measure(ctx context.Context) error {
	var failures []error
	for _, part := range c.chosen() {
		if ctx.Err() != nil {
			c.leaveOut(part.name + ", as the run was interrupted")
			continue
		}
		c.say(part.name + " begins")
		if err := c.measurePart(ctx, part); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", part.name, err))
			c.leaveOut(fmt.Sprintf("what was still to be measured of %s when it failed: %v", part.name, err))
		}
	}
	return errors.Join(failures...)
}

// measurePart gives a part several times the time that it should take, and then gives up, because something in it
// hangs.
func (c *comparison) measurePart(ctx context.Context, part comparisonPart) error {
	patience := 4*c.takes(part) + 2*time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was not done after %s", patience))
	defer cancel()
	err := part.run(c, ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}

// say prints how far the run has come.
func (c *comparison) say(what string) {
	fmt.Fprintf(os.Stderr, "%6s of about %s: %s\n", time.Since(c.started).Round(time.Second), c.expected.Round(time.Second), what)
}

// prepare finds the processes of PostgreSQL, and the other servers as far as a chosen part needs them.
func (c *comparison) prepare(ctx context.Context) (err error) {
	if c.needs(func(p comparisonPart) bool { return p.peers }) {
		if err := c.buildPeers(ctx); err != nil {
			return err
		}
	}
	if c.postgres, err = postgresProcesses(ctx, os.Getenv(postgresSetting)); err != nil {
		return err
	}
	c.python = os.Getenv("OPENINTENT_BENCH_PYTHON")
	if c.python == "" && c.needs(func(p comparisonPart) bool { return p.published }) {
		c.leaveOut("the published Python server, as OPENINTENT_BENCH_PYTHON is not set; make bench-compare sets it")
	}
	return nil
}

// buildPeers builds the other servers.
func (c *comparison) buildPeers(ctx context.Context) error {
	c.program = filepath.Join(c.scratch, "peers")
	build := exec.CommandContext(ctx, "go", "build", "-C", c.peers, "-o", c.program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("the other servers in %s cannot be built: %w", c.peers, err)
	}
	return nil
}

// needs reports whether a chosen part needs something.
func (c *comparison) needs(what func(comparisonPart) bool) bool {
	return slices.ContainsFunc(c.chosen(), what)
}

func (c *comparison) leaveOut(what string) {
	fmt.Fprintln(os.Stderr, "left out:", what)
	c.leftOut = append(c.leftOut, what)
}

// contest is one way to do something; contests take turns.
type contest struct {
	row
	measure func(ctx context.Context, callers int) (figure, error)
	// processes are the processes whose processor time counts as the contestant's; the load's does not.
	processes func() []int
	// lasting is how long the contest measures, if not as long as the plan says.
	lasting time.Duration
}

// closers end what a part has started, last first.
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
		if len(contests) > 0 {
			c.say(fmt.Sprintf("%s at %d, %d contestants", contests[0].what, n, len(contests)))
		}
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
	lasting := cmp.Or(measured.elapsed, contest.lasting, c.duration)
	units := measured.perSecond * lasting.Seconds()
	c.figures.add(contest.row, callers, measurement{figure: measured, processor: time.Duration(float64(after-before) / units)})
	return nil
}

// by returns a function that measures a load of the bench's own clients.
func (c *comparison) by(begin func(context.Context) (worker, error)) func(context.Context, int) (figure, error) {
	return func(ctx context.Context, callers int) (figure, error) { return c.load(ctx, callers, begin) }
}
