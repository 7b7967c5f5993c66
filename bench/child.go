package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"openintent/server"
)

// The child process learns from these environment variables what to serve.
const (
	childMode     = "OPENINTENT_BENCH_CHILD"
	childDatabase = "OPENINTENT_BENCH_DATABASE"
	childAlone    = "OPENINTENT_BENCH_ALONE"
	modeServer    = "server"
	modeEcho      = "echo"
	// childRetention sets the child's retention. The child then counts the statements that remove messages.
	childRetention = "OPENINTENT_BENCH_RETENTION"
)

// addresses are printed by a child process on its first line of output.
type addresses struct{ HTTP, GRPC string }

// consumption is what a child process prints for each line of its input: what it uses of the machine at that moment.
type consumption struct {
	// InUse is the memory of the objects on the heap and of the stacks after a garbage collection. The free places between the
	// objects are not counted: the next objects take them, and how many there are depends on what the process did before.
	// Resident is the process's memory as the operating system counts it. Both are in bytes.
	InUse, Resident int64
	// Before and After are the processor time so far, before and after these figures were collected.
	Before, After time.Duration
	Goroutines    int
	// Allocations is how many allocations were made so far, and Allocated is their size in bytes.
	Allocations, Allocated uint64
}

// serveChild runs the child process until its standard input ends, which happens when its parent ends.
func serveChild(mode string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text() == askRemovals {
				_ = json.NewEncoder(os.Stdout).Encode(removals.Load())
				continue
			}
			_ = json.NewEncoder(os.Stdout).Encode(consumed())
		}
	}()
	if mode == modeEcho {
		return serveEcho(ctx)
	}
	server.ReserveHeap()
	cfg := server.DefaultConfig()
	cfg.DatabaseURL = os.Getenv(childDatabase)
	cfg.HTTPAddr, cfg.GRPCAddr, cfg.LogLevel = "127.0.0.1:0", "127.0.0.1:0", "error"
	cfg.APIKeys = server.DevelopmentKey + ";roles=*," + compatibleKey + ";roles=*;sdk"
	cfg.Search = os.Getenv(childSearch) == ""
	cfg.MaxIntentsPerKey, cfg.MaxChannelsPerKey = 0, 0 // one key fills the databases
	cfg.WebhookAllowedNetworks = "127.0.0.0/8"
	cfg.Notifications = os.Getenv(childAlone) == ""
	if text := os.Getenv(childRetention); text != "" {
		retention, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		cfg.Retention, cfg.Hooks.Statement = retention, countRemovals
	}
	return server.Run(ctx, cfg, func(at server.Addresses) { announce(addresses{HTTP: at.HTTP, GRPC: at.GRPC}) })
}

func announce(at addresses) { _ = json.NewEncoder(os.Stdout).Encode(at) }

func consumed() consumption {
	before := processor()
	debug.FreeOSMemory() // collects garbage first
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return consumption{
		InUse: int64(memory.HeapAlloc + memory.StackInuse), Resident: resident(), Goroutines: runtime.NumGoroutine(),
		Before: before, After: processor(), Allocations: memory.Mallocs, Allocated: memory.TotalAlloc,
	}
}

// askRemovals is the line that asks a child process for its removals, which it prints at once.
const askRemovals = "removals"

// removals is how many statements have removed messages.
var removals atomic.Int64

func countRemovals(_ context.Context, text string) func() {
	if strings.HasPrefix(text, "DELETE FROM messages ") {
		removals.Add(1)
	}
	return nil
}

// processor returns the processor time that the process has used.
func processor() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// resident returns what Linux counts as the process's memory; 0 on other systems.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, size, _ := strings.Cut(string(text), "VmRSS:")
	kibibytes, _ := strconv.ParseInt(strings.Fields(size + " 0")[0], 10, 64)
	return kibibytes << 10
}

// consumption asks the child process what it uses now.
func (t *target) consumption() (c consumption, err error) {
	if _, err := fmt.Fprintln(t.input); err != nil {
		return c, err
	}
	return c, t.output.Decode(&c)
}

// removals asks the child process how many statements have removed messages.
func (t *target) removals() (count int64, err error) {
	if _, err := fmt.Fprintln(t.input, askRemovals); err != nil {
		return count, err
	}
	return count, t.output.Decode(&count)
}
