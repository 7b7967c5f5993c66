package leases

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/replica"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

var (
	rounds = flag.Int("leases.rounds", 8, "in how many rounds agents fight for scopes with each engine, at least")
	seed   = flag.Uint64("leases.seed", 0, "the seed of the fights; 0 picks one")
)

const (
	workers = 30
	scopes  = 3
	// patience is longer than a round takes, in seconds: those who wait until it is over get the scope or give up.
	patience = 300
	// moreRounds follow at most until everything of mustHappen has happened.
	moreRounds = 40
)

// mustHappen is what a fight must bring about, or the test shows too little.
var mustHappen = []string{
	"granted ", "wrote ", "refused", "ended released", "ended expired", "ended agent_dead", "ended access_lost",
	"returned agent_dead", "returned access_lost", "restarts", "waits that got the scope",
}

// TestOneHolderAtATime has a crowd fight for a few scopes, round after round.
func TestOneHolderAtATime(t *testing.T) {
	drawn := *seed
	if drawn == 0 {
		drawn = rand.Uint64()
	}
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			t.Logf("repeat with -leases.seed %d", drawn)
			fightAll(t, engine, rand.New(rand.NewPCG(drawn, 1))) //nolint:gosec // a schedule is no secret
		})
	}
}

func fightAll(t *testing.T, engine database.Engine, draw *rand.Rand) {
	h := newHouse(t, engine)
	counts := make(map[string]int)
	for i := range workers {
		h.replicas[0].Register(t, name(i))
	}
	missing := func(what string) bool { return counts[what] == 0 }
	round := 0
	for ; round < *rounds || round < *rounds+moreRounds && slices.ContainsFunc(mustHappen, missing); round++ {
		f := newFight(t, h, round, draw)
		for scope, history := range f.run(t) {
			if findings := Check(history); len(findings) > 0 {
				t.Fatalf("%q in %s of %+v", findings, scope, history)
			}
			for _, e := range history {
				what := fmt.Sprint(e.Kind, " ", e.Reason)
				if e.Kind == Wrote && !e.Accepted {
					what = "refused"
				}
				counts[what]++
			}
		}
		counts["restarts"] += f.restarts
		counts["waits that got the scope"] += f.waits
	}
	t.Logf("%d rounds without a finding: %v", round, counts)
	for _, what := range mustHappen {
		require.NotZero(t, counts[what], "%s never happened, so the test shows too little", what)
	}
}

// fight is a crowd that works on a few scopes.
type fight struct {
	*house
	draw      *rand.Rand
	base      time.Time
	resources []*resource
	crowd     []*worker
	marks     marks
	// over ends when nobody waits any longer.
	over     context.Context //nolint:containedctx // it ends the waits of all
	end      context.CancelFunc
	waiting  sync.WaitGroup
	restarts int
	waits    int
}

func name(i int) string { return fmt.Sprintf("worker-%d", i) }

func newFight(t *testing.T, h *house, round int, draw *rand.Rand) *fight {
	t.Helper()
	f := &fight{house: h, draw: draw, base: h.replicas[0].Clock.Advance(time.Second)}
	f.over, f.end = context.WithCancel(context.Background())
	t.Cleanup(f.end)
	for i := range scopes {
		f.resources = append(f.resources, &resource{scope: fmt.Sprintf("round-%d/scope-%d", round, i)})
	}
	for i := range workers {
		f.crowd = append(f.crowd, &worker{name: name(i), server: h.replicas[0], held: make(lent), known: make(lent)})
	}
	h.giveAccess(t, f.names(""))
	return f
}

// run lets the crowd act, in steps between which time passes, until all leases must have ended, and returns the histories.
func (f *fight) run(t *testing.T) map[string][]Entry {
	t.Helper()
	begin, err := f.lastPosition(f.replicas[0])
	require.NoError(t, err)
	for range 4 + f.draw.IntN(6) {
		f.step(t)
		f.collect(t)
		f.leave(t)
		f.passTime(t)
	}
	f.end()
	f.waiting.Wait()
	f.collect(t)
	for _, r := range f.replicas {
		r.Clock.Set(f.base.Add(time.Hour))
	}
	f.together(t, func(w *worker) error { // those who stood still wake up, too late
		for on, lease := range w.held {
			if err := w.works(f, on, lease); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range f.replicas {
		f.sweep(t, r)
	}
	for _, w := range f.crowd {
		if w.gone == dead {
			f.replicas[0].Register(t, w.name)
		}
	}
	return f.histories(t, begin)
}

// step lets everybody act at the same time, while commits fail or lose their acknowledgement, and a replica may restart.
func (f *fight) step(t *testing.T) {
	t.Helper()
	acts := make(map[*worker]func() error)
	for _, w := range f.crowd {
		acts[w] = f.act(t, w)
	}
	for _, r := range f.replicas {
		r.Faults.FailAfter(f.draw.IntN(3))
		r.Faults.FailBefore(f.draw.IntN(3))
	}
	var restarted error
	var restart sync.WaitGroup
	if f.draw.IntN(8) == 0 {
		f.restarts++
		r := f.replicas[f.draw.IntN(len(f.replicas))]
		restart.Go(func() { restarted = r.Restart() })
	}
	f.together(t, func(w *worker) error { return acts[w]() })
	restart.Wait()
	require.NoError(t, restarted)
	for _, r := range f.replicas {
		r.Faults.FailAfter(0)
		r.Faults.FailBefore(0)
	}
}

// act draws what a worker does.
func (f *fight) act(t *testing.T, w *worker) func() error {
	w.server = f.replicas[f.draw.IntN(len(f.replicas))] // it may have reconnected
	on := f.resources[f.draw.IntN(len(f.resources))]
	drawn := f.draw.IntN(20)
	switch held, known := w.held[on], w.known[on]; {
	case w.silent:
	case drawn < 2 && known != nil: // a process of it that stood still
		return func() error { return w.works(f, on, known) }
	case drawn < 5:
		return func() error { return w.got(f, on, w.acquires(f, w.server, on, 0)) }
	case drawn < 7 && w.waiting == nil:
		f.wait(w, on)
	case held == nil: // it does nothing yet
	case drawn < 11 && w.waiting == nil && w.gone == "":
		f.replicas[0].FallSilent(t, w.name)
		w.silent = true
	case drawn < 15:
		return func() error { return w.releases(f, on) }
	case drawn < 17:
		return func() error { return w.renews(f, on) }
	case drawn < 19:
		return func() error { return w.works(f, on, held) }
	}
	return func() error { return nil }
}

// wait lets a worker wait for a scope while the fight goes on.
func (f *fight) wait(w *worker, on *resource) {
	server := w.server
	w.waiting, w.waited = on, make(chan outcome, 1)
	f.waiting.Go(func() { w.waited <- w.acquires(f, server, on, patience) })
}

// collect gives those whose wait has ended what they got.
func (f *fight) collect(t *testing.T) {
	t.Helper()
	for _, w := range f.crowd {
		select {
		case how := <-w.waited:
			if how.lease != nil {
				f.waits++
			}
			require.NoError(t, w.got(f, w.waiting, how))
			w.waiting, w.waited = nil, nil
		default:
		}
	}
}

// together runs an action of each worker at the same time.
func (f *fight) together(t *testing.T, act func(w *worker) error) {
	t.Helper()
	failures := make([]error, len(f.crowd))
	var all sync.WaitGroup
	for i, w := range f.crowd {
		all.Go(func() { failures[i] = act(w) })
	}
	all.Wait()
	require.NoError(t, errors.Join(failures...))
}

// sweep has a replica sweep, and notes it.
func (f *fight) sweep(t *testing.T, r *replica.Replica) {
	t.Helper()
	require.NoError(t, r.Call(func() error { return r.Leases.Sweep(r.Life) }))
	f.note(t, Entry{Kind: Swept})
}

// note notes something that the log does not tell, at this place of the history.
func (f *fight) note(t *testing.T, e Entry) {
	t.Helper()
	position, err := f.lastPosition(f.replicas[0])
	require.NoError(t, err)
	f.marks.add(mark{position: position, entry: e})
}
