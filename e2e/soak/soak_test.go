package soak

import (
	"context"
	"flag"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

var duration = flag.Duration("soak.duration", 3*time.Second, "how long the load goes on, on each engine")

const (
	// warming is the part of the time that is not measured.
	warming = 0.25
	// In the rest of the time the load rests at most this often, with at least this much time in between.
	rests        = 60
	betweenRests = 1500 * time.Millisecond
)

func TestMain(m *testing.M) {
	runtime.MemProfileRate = 64 << 10 // so that small allocations are recorded too
	harness.Main(m)
}

// TestNothingGrows is described in the package's documentation.
func TestNothingGrows(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := start(t, url, nil)
		l := newLoad(t, h)
		t.Cleanup(l.followThroughout(t))
		leading, end := context.WithCancel(t.Context())
		defer end()
		led := make(chan error, 1)
		go func() { led <- l.lead(leading) }()

		samples, before, after := l.measure(t, led)
		end()
		require.NoError(t, <-led)
		for _, q := range quantities {
			t.Logf("%-15s from %.0f to %.0f in %d lives", q.name, q.of(samples[0]), q.of(samples[len(samples)-1]),
				samples[len(samples)-1].lives-samples[0].lives)
			if told := q.judge(samples); told != "" {
				t.Error(told)
			}
		}
		if t.Failed() {
			t.Log("there is more of this:\n" + after.since(before))
		}
	})
}

// start starts a server that soon removes what has ended.
func start(t *testing.T, url string, configure func(*server.Config)) *harness.Server {
	return harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
		cfg.Retention, cfg.LogLevel, cfg.WebhookAllowedNetworks = time.Second, "error", "127.0.0.0/8"
		cfg.Kept = 64 // so that caches fill quickly
		if configure != nil {
			configure(cfg)
		}
	}})
}

// followThroughout opens streams that last as long as the load and carry what reaches the agents through all the
// lives.
func (l *load) followThroughout(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	for n := range 2 {
		stream, err := l.h.As(agent(n)).Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent(n)},
		})
		require.NoError(t, err)
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
			}
		}()
	}
	return cancel
}

// measure records at each rest what the process uses, and at the first and the last rest also who uses it.
func (l *load) measure(t *testing.T, led <-chan error) (samples []sample, before, after inventory) {
	began := time.Now()
	until := time.NewTimer(time.Duration(warming * float64(*duration)))
	defer until.Stop()
	measured := time.Duration((1 - warming) * float64(*duration))
	count := max(3, min(rests, int(measured/betweenRests)))
	for {
		select {
		case err := <-led:
			require.NoError(t, err)
			t.Fatal("the load ended by itself")
		case <-until.C:
		}
		l.resting.Lock()
		samples = append(samples, l.sample(samples))
		if after = takeInventory(); len(samples) == 1 {
			before = after
		}
		l.resting.Unlock()
		if len(samples) > count || time.Since(began) > *duration+harness.Patience {
			return samples, before, after
		}
		until.Reset(measured / time.Duration(count))
	}
}

// sample measures the process during a rest. Handlers whose clients have gone end a moment later, so it waits for
// them for a while.
func (l *load) sample(before []sample) sample {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for tries := 0; tries < 200 && len(before) > 0 && runtime.NumGoroutine() > int(before[0].goroutines); tries++ {
		<-again.C
	}
	goroutines := runtime.NumGoroutine()
	runtime.GC()
	runtime.GC() // frees what finalizers and pools kept through the first collection
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return sample{
		at: time.Now(), lives: l.lives.Load(), heap: float64(memory.HeapAlloc), goroutines: float64(goroutines), files: openFiles(),
	}
}
