package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
)

// notifying is how many callers send simultaneously while the cost of notifications is measured.
const notifying = 64

// notifications measures what notifying other replicas costs the senders. It compares a server that notifies a
// listening replica with a server that does not notify its replica.
func (p plan) notifications(ctx context.Context, engine string) error {
	with, done, err := p.startPair(ctx, engine, "notified")
	if err != nil {
		return err
	}
	defer done()
	without, done, err := p.startPair(ctx, engine, "alone", childAlone+"=1")
	if err != nil {
		return err
	}
	defer done()
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		for _, contestant := range []struct {
			name   string
			target *target
		}{{"with", with}, {"without", without}} {
			one, err := contestant.target.openChannels(ctx, 1)
			if err != nil {
				return err
			}
			many, err := contestant.target.openChannels(ctx, p.channels)
			if err != nil {
				return err
			}
			for _, channels := range [][]string{one, many} {
				measured, err := p.load(ctx, notifying, contestant.target.grpcSender(channels))
				if err != nil {
					return err
				}
				all.add(series{contestant.name, where(channels)}, notifying, measured)
			}
		}
	}
	fmt.Printf("\n%s, sends by %d callers while a second replica listens, with and without notifications\n", engine, notifying)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\twith, per second\twithout\tratio\t")
	for _, place := range []string{"one channel", "many channels"} {
		notified, _ := all.median(series{"with", place}, notifying)
		alone, _ := all.median(series{"without", place}, notifying)
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.2f\t\n", place, notified.perSecond, alone.perSecond,
			notified.perSecond/alone.perSecond)
	}
	return table.Flush()
}

func where(channels []string) string {
	if len(channels) == 1 {
		return "one channel"
	}
	return "many channels"
}

// startPair starts two servers on a fresh database and returns the first one.
func (p plan) startPair(ctx context.Context, engine, name string, environment ...string) (*target, func(), error) {
	url, err := p.databaseURL(ctx, engine, name)
	if err != nil {
		return nil, nil, err
	}
	first, err := startReplica(ctx, url, environment...)
	if err != nil {
		return nil, nil, err
	}
	second, err := startReplica(ctx, url, environment...)
	if err != nil {
		first.stop()
		return nil, nil, err
	}
	return first, func() { second.stop(); first.stop() }, nil
}
