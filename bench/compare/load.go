package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// worker does one unit of work; n counts the units of all callers.
type worker func(ctx context.Context, n int) error

// figure is the result of one load.
type figure struct {
	PerSecond float64
	// Median and Slow are p50 and p99, and Processor is the time that this process used for each unit, all in
	// nanoseconds.
	Median, Slow, Processor int64
}

// text is the payload of the bench's messages.
var text = strings.Repeat("what schema version does the dataset use? ", 11)

var payload = []byte(`{"question":"` + text + `","attempt":1}`)

// load lets callers work simultaneously. It does the same as the bench's own load, which this module cannot import
// because it is a program.
func load(ctx context.Context, j job, work worker) (figure, error) {
	var units atomic.Int64
	took := make([][]time.Duration, j.Callers)
	failures := make([]error, j.Callers)
	used, started := processor(), time.Now()
	until := started.Add(time.Duration(j.Seconds * float64(time.Second)))
	var callers sync.WaitGroup
	for i := range j.Callers {
		callers.Go(func() {
			for {
				before := time.Now()
				if before.After(until) {
					return
				}
				if failures[i] = work(ctx, int(units.Add(1))); failures[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(before))
			}
		})
	}
	callers.Wait()
	elapsed := time.Since(started)
	used = processor() - used
	if err := errors.Join(failures...); err != nil {
		return figure{}, err
	}
	all := slices.Concat(took...)
	if len(all) == 0 {
		return figure{}, errors.New("no unit of work ended in time")
	}
	slices.Sort(all)
	return figure{
		PerSecond: float64(len(all)) / elapsed.Seconds(),
		Median:    all[len(all)/2].Nanoseconds(), Slow: all[len(all)*99/100].Nanoseconds(),
		Processor: used.Nanoseconds() / int64(len(all)),
	}, nil
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
