package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// grownMode is the first argument of a run that measures calls on an empty database and again on a filled one:
// bench growth -size small. It fills the database through the API.
const grownMode = "growth"

// grownSize is how much the database is filled with.
type grownSize struct {
	name              string
	messages, intents int
}

var grownSizes = []grownSize{{"small", 20_000, 1_000}, {"medium", 1_000_000, 20_000}, {"large", 10_000_000, 100_000}}

// grownRun is a run that measures growth.
type grownRun struct {
	plan
	size   grownSize
	idling time.Duration
	output string
	began  time.Time
	found  grownFigures
	sizes  []string // sentences about the databases' sizes
}

func grown(arguments []string) error {
	names := make([]string, len(grownSizes))
	for i, size := range grownSizes {
		names[i] = size.name
	}
	g := grownRun{began: time.Now()}
	flags := flag.NewFlagSet("bench "+grownMode, flag.ContinueOnError)
	size := flags.String("size", names[0], "how much to fill the database with: "+strings.Join(names, ", "))
	engines := flags.String("engines", "sqlite,postgres", "engines to measure; postgres needs "+postgresSetting)
	flags.DurationVar(&g.idling, "idle", 20*time.Second, "for how long the idle server is measured")
	flags.StringVar(&g.output, "output", "bench", "directory for GROWTH.md and the plots")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	chosen := slices.Index(names, *size)
	if chosen < 0 {
		return fmt.Errorf("there is no size %q; the sizes are %s", *size, strings.Join(names, ", "))
	}
	g.size, g.engines = grownSizes[chosen], strings.Split(*engines, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return g.run(ctx)
}

func (g *grownRun) run(ctx context.Context) (err error) {
	if g.scratch, err = os.MkdirTemp("", "openintent-bench"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(g.scratch) }()
	for _, engine := range g.engines {
		if err := g.measure(ctx, engine); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	return g.report(ctx)
}

// say prints how far the run has come.
func (g *grownRun) say(form string, values ...any) {
	fmt.Fprintf(os.Stderr, "%6s: %s\n", time.Since(g.began).Round(time.Second), fmt.Sprintf(form, values...))
}

// measure measures everything on one engine.
func (g *grownRun) measure(ctx context.Context, engine string) error {
	url, err := g.databaseURL(ctx, engine, "growth")
	if err != nil {
		return err
	}
	w, err := g.begin(ctx, engine, url)
	if err != nil {
		return err
	}
	defer func() { w.stop() }()
	for _, filled := range []bool{false, true} {
		if filled {
			if err := w.fill(ctx); err != nil {
				return err
			}
		}
		g.say("%s: waiting until the index of messages' words is filled, for which the server has a twentieth of a processor", engine)
		if err := w.awaitFilled(ctx, 3*time.Hour); err != nil {
			return err
		}
		if err := w.measureAll(ctx, filled); err != nil {
			return err
		}
	}
	before, err := databaseSize(ctx, url)
	if err != nil {
		return err
	}
	if err := w.measureRetention(ctx, url); err != nil {
		return err
	}
	return w.measureSpace(ctx, url, before)
}

// measureAll measures the calls, a delivery, and the idle server.
func (w *grownWorld) measureAll(ctx context.Context, filled bool) error {
	calls, err := w.calls(ctx)
	if err != nil {
		return err
	}
	for _, call := range calls {
		took, err := call.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", call.name, err)
		}
		w.note(call.name, filled, took)
	}
	if err := w.measureDelivery(ctx, filled); err != nil {
		return fmt.Errorf("a delivery: %w", err)
	}
	if err := w.measureIdle(ctx, filled); err != nil {
		return err
	}
	return w.measureFilling(ctx, filled)
}

// note notes and prints a figure.
func (w *grownWorld) note(name string, filled bool, took time.Duration) {
	w.run.found.add(name, w.engine, filled, took)
	w.run.say("%s, %s: %s %.3f ms", w.engine, map[bool]string{false: "empty", true: "filled"}[filled], name, milliseconds(took))
}
