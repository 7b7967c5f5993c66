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
	"strconv"
	"strings"
	"time"
)

// plan is what a run measures.
type plan struct {
	callers  []int
	channels int
	duration time.Duration
	rounds   int
	engines  []string
	scratch  string
}

func main() {
	if mode := os.Getenv(childMode); mode != "" {
		exitOn(serveChild(mode))
		return
	}
	var p plan
	callers := flag.String("callers", "1,16,64,256", "how many callers send at once, comma-separated")
	engines := flag.String("engines", "sqlite,postgres", "engines to measure; postgres needs OPENINTENT_TEST_POSTGRES")
	flag.IntVar(&p.channels, "channels", 1000, "how many channels \"many\" are")
	flag.DurationVar(&p.duration, "duration", time.Second, "how long each figure is measured in each round")
	flag.IntVar(&p.rounds, "rounds", 3, "how often the whole is measured; figures are medians")
	flag.Parse()
	for text := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(text)
		exitOn(err)
		p.callers = append(p.callers, n)
	}
	p.engines = strings.Split(*engines, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(p.run(ctx))
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
	for _, engine := range p.engines {
		results, err := p.measure(ctx, engine)
		if err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		results.print(engine, p)
	}
	return nil
}

// measure runs all rounds on one engine; contestants take turns within a round.
func (p plan) measure(ctx context.Context, engine string) (*results, error) {
	url, err := p.databaseURL(ctx, engine, "server")
	if err != nil {
		return nil, err
	}
	server, err := startServer(ctx, url)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	floor, err := startEcho(ctx)
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	url, err = p.databaseURL(ctx, engine, "baseline")
	if err != nil {
		return nil, err
	}
	baseline, err := openBaseline(ctx, url)
	if err != nil {
		return nil, err
	}
	defer baseline.close()
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		if err := p.round(ctx, server, floor, baseline, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p plan) round(ctx context.Context, server, floor *target, baseline *baseline, all *results) error {
	one, err := server.openChannels(ctx, 1)
	if err != nil {
		return err
	}
	many, err := server.openChannels(ctx, p.channels)
	if err != nil {
		return err
	}
	for _, callers := range p.callers {
		for _, load := range []struct {
			series series
			work   func(context.Context) (worker, error)
		}{
			{series{"send, gRPC", "one channel"}, server.grpcSender(one)},
			{series{"send, gRPC", "many channels"}, server.grpcSender(many)},
			{series{"send, REST", "one channel"}, server.restSender(one)},
			{series{"send, REST", "many channels"}, server.restSender(many)},
			{series{"one transaction a message", "one channel"}, baseline.sender(1)},
			{series{"one transaction a message", "many channels"}, baseline.sender(p.channels)},
			{series{"ask", "one channel"}, server.asker(one)},
			{series{"ask, nothing stored", "one channel"}, floor.asker(echoChannels())},
		} {
			before := server.batches(ctx)
			measured, err := p.load(ctx, callers, load.work)
			if err != nil {
				return fmt.Errorf("%s, %s, %d callers: %w", load.series.name, load.series.where, callers, err)
			}
			measured.batch = server.batches(ctx).since(before)
			all.add(load.series, callers, measured)
		}
	}
	commits, err := p.load(ctx, 1, baseline.committer())
	if err != nil {
		return err
	}
	all.add(series{"single-row commit", "-"}, 1, commits)
	return nil
}

// databaseURL gives the URL of a fresh database.
func (p plan) databaseURL(ctx context.Context, engine, name string) (string, error) {
	if engine == "sqlite" {
		return "sqlite:" + p.scratch + "/" + name + ".db", nil
	}
	maintenance := os.Getenv("OPENINTENT_TEST_POSTGRES")
	if maintenance == "" {
		return "", errors.New("OPENINTENT_TEST_POSTGRES is not set; run make bench, which starts a PostgreSQL")
	}
	address, err := url.Parse(maintenance)
	if err != nil {
		return "", err
	}
	pool, err := sql.Open("pgx", maintenance) // the driver that package database brings
	if err != nil {
		return "", err
	}
	defer func() { _ = pool.Close() }()
	address.Path = "/bench_" + name + "_" + strconv.FormatInt(time.Now().UnixMicro(), 36)
	_, err = pool.ExecContext(ctx, "CREATE DATABASE "+address.Path[1:])
	return address.String(), err
}
