package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"text/tabwriter"
)

// allocations measures what a send makes its server allocate. The server is a separate process, so the figures
// contain nothing of the clients. For comparison it measures the same calls to a server that stores nothing.
func (p plan) allocations(ctx context.Context, engine string) error {
	stored, err := p.startServer(ctx, engine, "allocations")
	if err != nil {
		return err
	}
	defer stored.stop()
	bare, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer bare.stop()
	one, err := stored.openChannels(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s, what a send of about 500 bytes makes the server allocate\n", engine)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	defer func() { _ = table.Flush() }()
	_, _ = fmt.Fprintln(table, "\tcallers\tallocations\tbytes\t")
	for _, contestant := range []struct {
		name string
		on   *target
		send func(context.Context) (worker, error)
	}{
		{"gRPC", stored, stored.grpcSender(one)},
		{"REST", stored, stored.restSender(one)},
		{"gRPC, nothing stored", bare, bare.grpcSender(echoChannels())},
	} {
		for _, callers := range []int{1, 64} {
			each, err := p.allocated(ctx, contestant.on, callers, contestant.send)
			if err != nil {
				return fmt.Errorf("%s, %d callers: %w", contestant.name, callers, err)
			}
			_, _ = fmt.Fprintf(table, "%s\t%d\t%.0f\t%.0f\t\n", contestant.name, callers, each.count, each.bytes)
		}
	}
	return nil
}

// allocated is what a server allocates for each unit of work: the number of allocations and their bytes.
type allocated struct{ count, bytes float64 }

// allocated puts a load on a server twice; the first one only warms the server up.
func (p plan) allocated(
	ctx context.Context, t *target, callers int, begin func(context.Context) (worker, error),
) (each allocated, err error) {
	if _, err := p.load(ctx, callers, begin); err != nil {
		return each, err
	}
	before, err := t.consumption()
	if err != nil {
		return each, err
	}
	var units atomic.Int64
	_, err = p.load(ctx, callers, func(ctx context.Context) (worker, error) {
		work, err := begin(ctx)
		return func(ctx context.Context, n int) error {
			units.Add(1)
			return work(ctx, n)
		}, err
	})
	if err != nil {
		return each, err
	}
	after, err := t.consumption()
	sent := float64(units.Load())
	return allocated{float64(after.Allocations-before.Allocations) / sent, float64(after.Allocated-before.Allocated) / sent}, err
}
