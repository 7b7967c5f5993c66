package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"openintent/tools/worktree"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rooms := flag.String("rooms", "", "the rooms whose faults are planted, comma-separated; empty means all")
	match := flag.String("match", "", "plant only faults whose sentence matches this regular expression")
	jobs := flag.Int("jobs", 2, "how many copies of the code are tested simultaneously")
	limit := flag.Duration("limit", 5*time.Minute, "for how long the tests of one fault may run")
	flag.Parse()
	root, err := filepath.Abs("..") // `go -C tools run` starts this in tools
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	all, err := readLists(filepath.Join(root, "tools/faults/rooms"))
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(all, func(f fault) bool {
		return !pattern.MatchString(f.Breaks) || *rooms != "" && !slices.Contains(strings.Split(*rooms, ","), f.room)
	})
	if len(chosen) == 0 {
		return errors.New("no fault matches -rooms and -match")
	}
	return plantAll(ctx, chosen, root, *jobs, *limit)
}

// plantAll tries all faults, in several copies of the code, and prints what became of each.
func plantAll(ctx context.Context, faults []fault, root string, jobs int, limit time.Duration) error {
	waiting := make(chan fault)
	go func() {
		defer close(waiting)
		for _, f := range faults {
			select {
			case waiting <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	var (
		group   sync.WaitGroup
		say     sync.Mutex
		done    int
		failed  int
		failure error
	)
	for range min(jobs, len(faults)) {
		group.Go(func() {
			directory, err := worktree.Copy(ctx, root, "openintent-faults-")
			if err != nil {
				say.Lock()
				failure = errors.Join(failure, err)
				say.Unlock()
				return
			}
			defer func() { _ = os.RemoveAll(directory) }()
			sound := newSound(directory, limit)
			for f := range waiting {
				r := sound.tryFault(ctx, f)
				say.Lock()
				done++
				if len(r.by) == 0 {
					failed++
				}
				fmt.Printf("%3d/%d %s\n", done, len(faults), describe(f, r))
				say.Unlock()
			}
		})
	}
	group.Wait()
	if err := errors.Join(failure, ctx.Err()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d faults were not noticed", failed, len(faults))
	}
	fmt.Printf("all %d faults were noticed\n", len(faults))
	return nil
}

func describe(f fault, r result) string {
	took := r.took.Round(time.Second)
	switch {
	case r.wrong != nil:
		return fmt.Sprintf("UNKNOWN   %s: %s\n    %v", f.room, f.Breaks, r.wrong)
	case len(r.by) == 0:
		return fmt.Sprintf("SURVIVED  %s: %s\n    %s, and the tests of %s pass (%s)", f.room, f.Breaks, f.File, strings.Join(f.Packages, " "), took)
	}
	return fmt.Sprintf("noticed   %s: %s\n    by %s (%s)", f.room, f.Breaks, strings.Join(r.by, ", "), took)
}

// sound remembers which tests pass without a fault, so that a test that fails anyway does not count as one that notices.
type sound struct {
	directory string
	limit     time.Duration
	passed    map[string]error
}

func newSound(directory string, limit time.Duration) *sound {
	return &sound{directory: directory, limit: limit, passed: make(map[string]error)}
}

// tryFault tries a fault, and then, if something failed, whether the same tests pass without it.
func (s *sound) tryFault(ctx context.Context, f fault) result {
	r := try(ctx, f, s.directory, s.limit)
	if r.wrong != nil || len(r.by) == 0 {
		return r
	}
	tests := f.Tests + " " + strings.Join(f.Packages, " ")
	err, known := s.passed[tests]
	if !known {
		without := test(ctx, f, s.directory, s.limit)
		if err = without.wrong; len(without.by) > 0 {
			err = fmt.Errorf("without the fault, this fails too: %s", strings.Join(without.by, ", "))
		}
		s.passed[tests] = err
	}
	if err != nil {
		return result{wrong: err, took: r.took}
	}
	return r
}
