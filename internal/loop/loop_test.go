package loop

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// record is a log that may be read while it is written.
type record struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *record) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(line)
}

func (l *record) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func await(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(patience):
		require.Fail(t, "no run came")
	}
}

func TestALoopTurnsAtItsIntervalAndWhenItIsWoken(t *testing.T) {
	for name, row := range map[string]struct {
		interval time.Duration
		wakes    bool
	}{
		"at its interval": {time.Millisecond, false},
		"when woken":      {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			runs := make(chan struct{})
			l := New("testing", row.interval, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
				select {
				case runs <- struct{}{}:
				case <-ctx.Done():
				}
				return nil
			})
			l.Start()
			defer l.Stop()
			for range 3 {
				if row.wakes {
					l.Wake()
				}
				await(t, runs)
			}
		})
	}
}

// A run that fails or panics is logged, and the loop goes on.
func TestALoopOutlivesItsTurns(t *testing.T) {
	runs, written := make(chan struct{}), &record{}
	failures := []func() error{
		func() error { return errors.New("it failed") },
		func() error { panic("it panicked") },
		func() error { return nil },
	}
	l := New("testing", time.Hour, slog.New(slog.NewTextHandler(written, nil)), func(context.Context) error {
		fail := failures[0]
		failures = failures[1:]
		defer func() { runs <- struct{}{} }()
		return fail()
	})
	l.Start()
	for range 3 {
		l.Wake()
		await(t, runs)
	}
	l.Stop()
	require.Contains(t, written.String(), "it failed")
	require.Contains(t, written.String(), "it panicked")
	require.Contains(t, written.String(), "work=testing")
}

// Stop ends the context of a run under way and waits until the run has returned.
func TestStopWaitsForTheTurn(t *testing.T) {
	begun, returned, written := make(chan struct{}), false, &record{}
	l := New("testing", time.Hour, slog.New(slog.NewTextHandler(written, nil)), func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		returned = true
		return ctx.Err()
	})
	l.Stop() // before Start it does nothing
	l.Start()
	require.Panics(t, l.Start)
	l.Wake()
	await(t, begun)
	l.Stop()
	require.True(t, returned)
	l.Stop()
	require.Empty(t, written.String(), "what Stop interrupts has not failed")
}

// A loop that slows down logs the first of several failures and the success after them, and keeps turning.
func TestALoopThatSlowsDownSaysOnceThatItFails(t *testing.T) {
	runs, written := make(chan bool), &record{}
	l := New("testing", time.Millisecond, slog.New(slog.NewTextHandler(written, nil)), func(ctx context.Context) error {
		select {
		case works := <-runs:
			if works {
				return nil
			}
			return errors.New("it failed")
		case <-ctx.Done():
			return nil
		}
	}).Slowing(4 * time.Millisecond)
	l.Start()
	for range 2 {
		for _, works := range []bool{false, false, false, true, true} {
			select {
			case runs <- works:
			case <-time.After(patience):
				require.Fail(t, "no run came")
			}
		}
	}
	l.Stop()
	require.Equal(t, 2, strings.Count(written.String(), "it failed"))
	require.Equal(t, 2, strings.Count(written.String(), "succeeds again"))
	require.Contains(t, written.String(), "failures=3")
}

// A loop that slows down runs more seldom after failures, and as often as before once the work has succeeded. The pauses after the next
// failures begin short.
func TestALoopThatSlowsDownSetsItsPace(t *testing.T) {
	l := New("testing", time.Nanosecond, slog.New(slog.DiscardHandler), nil).Slowing(time.Hour)
	ticker := time.NewTicker(time.Nanosecond)
	defer ticker.Stop()
	runs := func(what string) {
		t.Helper()
		select {
		case <-ticker.C:
		case <-time.After(patience):
			require.Fail(t, "no run came", what)
		}
	}
	for range 64 { // until the pause is the longest
		l.conclude(errors.New("it failed"), ticker)
	}
	select {
	case <-ticker.C:
		require.Fail(t, "it runs as often as before")
	default:
	}
	l.conclude(nil, ticker)
	runs("after a success")
	l.conclude(errors.New("it failed again"), ticker)
	runs("after the first failure of another series")
}

func TestPausesGrowUpToTheLongest(t *testing.T) {
	pauses := growingPauses(250*time.Millisecond, 5*time.Second)
	var found []time.Duration
	for range 6 {
		found = append(found, pauses.NextBackOff())
	}
	require.Equal(t, []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second,
	}, found)
	require.Equal(t, time.Second, growingPauses(time.Minute, time.Second).NextBackOff())
}
