package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// postgresSetting names the environment variable with the URL of a PostgreSQL whose user may create databases.
const postgresSetting = "OPENINTENT_TEST_POSTGRES"

// plan is what a run measures.
type plan struct {
	callers  []int
	channels int
	streams  []int
	idle     []int
	replayed int
	duration time.Duration
	rounds   int
	engines  []string
	only     []string
	scratch  string
}

// part is one thing to measure, on one engine. It prints its own table.
type part struct {
	name string
	run  func(p plan, ctx context.Context, engine string) error
	// engine is the only engine on which the part is measured; empty means each engine.
	engine string
}

var parts = []part{
	{name: "send", run: plan.send},
	{name: "fanout", run: plan.fanOut},
	{name: "latency", run: plan.latency},
	{name: "doors", run: plan.doors},
	{name: "notifications", run: plan.notifications, engine: "postgres"},
	{name: "allocations", run: plan.allocations},
	{name: "replay", run: plan.replays},
	{name: "memory", run: plan.memory, engine: "sqlite"}, // a stream's memory does not depend on the engine
}

func main() {
	if mode := os.Getenv(childMode); mode != "" {
		exitOn(serveChild(mode))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "compare" {
		exitOn(compare(os.Args[2:]))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == searchMode {
		exitOn(search(os.Args[2:]))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == grownMode {
		exitOn(grown(os.Args[2:]))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == sdkLoad {
		exitOn(serveSDKLoad(os.Args[2:]))
		return
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = part.name
	}
	all := strings.Join(names, ",")
	var p plan
	only := flag.String("only", all, "which parts to measure, comma-separated")
	callers := flag.String("callers", "1,16,64,256", "how many callers send simultaneously, comma-separated")
	streams := flag.String("streams", "1,100,1000", "how many streams follow one sender, comma-separated")
	idle := flag.String("idle", "1000,10000", "at how many idle streams memory is measured, ascending, comma-separated")
	engines := flag.String("engines", "sqlite,postgres", "engines to measure; postgres needs OPENINTENT_TEST_POSTGRES")
	flag.IntVar(&p.channels, "channels", 1000, "how many channels \"many\" are")
	flag.IntVar(&p.replayed, "replayed", 200_000, "how many messages the intent has that is replayed")
	flag.DurationVar(&p.duration, "duration", time.Second, "how long each figure is measured in each round")
	flag.IntVar(&p.rounds, "rounds", 3, "how many rounds are measured; figures are medians")
	flag.Parse()
	p.callers, p.streams, p.idle = numbers(*callers), numbers(*streams), numbers(*idle)
	p.engines, p.only = strings.Split(*engines, ","), strings.Split(*only, ",")
	for _, name := range p.only {
		if !slices.Contains(names, name) {
			exitOn(fmt.Errorf("there is no part %q; the parts are %s", name, all))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(p.run(ctx))
}

// numbers reads a list of numbers.
func numbers(list string) (values []int) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		exitOn(err)
		values = append(values, n)
	}
	return values
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (p plan) run(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "openintent-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	p.scratch = scratch
	fmt.Printf("%s, %d processors; %d rounds of %s a figure; medians\n", runtime.Version(), runtime.NumCPU(), p.rounds, p.duration)
	for _, part := range parts {
		for _, engine := range p.engines {
			if !slices.Contains(p.only, part.name) || part.engine != "" && part.engine != engine {
				continue
			}
			if err := part.run(p, ctx, engine); err != nil {
				return fmt.Errorf("%s, %s: %w", part.name, engine, err)
			}
		}
	}
	return nil
}

// databaseURL returns the URL of a fresh database.
func (p plan) databaseURL(ctx context.Context, engine, name string) (string, error) {
	started := strconv.FormatInt(time.Now().UnixMicro(), 36)
	if engine == "sqlite" {
		return "sqlite:" + p.scratch + "/" + name + "_" + started + ".db", nil
	}
	maintenance := os.Getenv(postgresSetting)
	if maintenance == "" {
		return "", errors.New(postgresSetting + " is not set; run make bench, which starts a PostgreSQL")
	}
	return createDatabase(ctx, maintenance, name+"_"+started)
}

// createDatabase creates a database on the PostgreSQL of a URL, and returns the database's URL.
func createDatabase(ctx context.Context, maintenance, name string) (string, error) {
	address, err := url.Parse(maintenance)
	if err != nil {
		return "", err
	}
	pool, err := sql.Open("pgx", maintenance) // package database registers this driver
	if err != nil {
		return "", err
	}
	defer func() { _ = pool.Close() }()
	address.Path = "/bench_" + name
	_, err = pool.ExecContext(ctx, "CREATE DATABASE "+address.Path[1:])
	return address.String(), err
}
