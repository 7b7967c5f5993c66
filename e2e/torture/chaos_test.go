package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// chaos breaks things on a schedule that its seed determines. It runs the faults on the test's goroutine, one after the other.
type chaos struct {
	t        *testing.T
	random   *rand.Rand
	world    *world
	postgres *databasetest.Server
	url      string
	injected map[string]int
	// flooded is the channel that floods are sent to.
	flooded string
	// longest bounds how long a replica is frozen.
	longest time.Duration
}

// faults returns the possible faults by name. Each leaves everything running, though perhaps not yet recovered.
func (c *chaos) faults() map[string]func(ctx context.Context) {
	return map[string]func(ctx context.Context){
		"replica killed": func(ctx context.Context) {
			c.disturb(func(replica *harness.Server) {
				replica.Kill()
				c.wait(ctx, 500*time.Millisecond)
				replica.Start(c.t)
			})
		},
		"replica drained": func(ctx context.Context) {
			c.disturb(func(replica *harness.Server) {
				if err := replica.Stop(); err != nil {
					c.world.problem("a replica did not stop properly: %v", err)
				}
				c.wait(ctx, 300*time.Millisecond)
				replica.Start(c.t)
			})
		},
		"replica frozen": func(ctx context.Context) {
			c.disturb(func(replica *harness.Server) {
				begun := c.world.now()
				replica.Freeze(c.t)
				c.wait(ctx, c.longest)
				c.world.change(func(h *History) { h.Freezes = append(h.Freezes, Span{begun, c.world.next()}) })
				replica.Thaw(c.t)
			})
		},
		"replica flooded by one key": func(ctx context.Context) {
			flooding, end := context.WithCancel(ctx)
			var flooded sync.WaitGroup
			replica := c.world.replicas[c.random.IntN(len(c.world.replicas))]
			flooded.Go(func() { flood(flooding, replica, c.flooded) })
			c.wait(ctx, c.longest/2)
			end()
			flooded.Wait()
		},
		"PostgreSQL restarted": func(ctx context.Context) { c.restartPostgres(ctx, databasetest.Fast) },
		"PostgreSQL crashed":   func(ctx context.Context) { c.restartPostgres(ctx, databasetest.Immediate) },
		"PostgreSQL's connections ended": func(context.Context) {
			c.world.disturb(everyReplica, func() { databasetest.KillConnections(c.t, c.url) })
		},
		"all lines to a replica cut": func(context.Context) {
			for _, line := range c.world.lines[c.random.IntN(len(c.world.lines))] {
				line.Cut()
			}
		},
		"lines cut everywhere": func(context.Context) {
			for _, lines := range c.world.lines {
				lines[c.random.IntN(len(lines))].Cut()
			}
		},
	}
}

// disturb runs do, which prevents a replica from answering.
func (c *chaos) disturb(do func(replica *harness.Server)) {
	number := c.random.IntN(len(c.world.replicas))
	c.world.disturb(number, func() { do(c.world.replicas[number]) })
}

func (c *chaos) restartPostgres(ctx context.Context, how databasetest.Shutdown) {
	c.world.disturb(everyReplica, func() {
		c.postgres.Stop(c.t, how)
		c.wait(ctx, 500*time.Millisecond)
		c.postgres.Start(c.t)
	})
}

// run injects every fault once in each round, in a random order for each round, until the context ends.
func (c *chaos) run(ctx context.Context) {
	faults := c.faults()
	for ctx.Err() == nil {
		names := slices.Sorted(maps.Keys(faults))
		c.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			c.wait(ctx, time.Second)
			if ctx.Err() != nil {
				return
			}
			faults[name](ctx)
			c.injected[name]++
		}
	}
}

// wait waits for a random time below a bound, or until the context ends.
func (c *chaos) wait(ctx context.Context, below time.Duration) {
	timer := time.NewTimer(time.Duration(c.random.Int64N(int64(below))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// report lists the injected faults.
func (c *chaos) report() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.injected)) {
		lines = append(lines, fmt.Sprintf("  %-34s %7d times", name, c.injected[name]))
	}
	return strings.Join(lines, "\n")
}
