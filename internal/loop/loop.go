package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"openintent/internal/fault"
)

// Loop repeats one piece of work. Make it with New.
type Loop struct {
	name     string
	interval time.Duration
	work     func(context.Context) error
	logger   *slog.Logger

	// longest is the longest pause after failures; zero for a loop that keeps its interval whatever happens. failed counts the runs in a
	// row that have failed, as long as the pauses grow.
	longest time.Duration
	failed  int
	pauses  *backoff.ExponentialBackOff

	// turn is held by the run under way.
	turn sync.Mutex

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
}

// New makes a loop that is not yet running. The name appears in the log when a run fails.
func New(name string, interval time.Duration, logger *slog.Logger, work func(context.Context) error) *Loop {
	return &Loop{name: name, interval: interval, work: work, logger: logger, wake: make(chan struct{}, 1)}
}

// Slowing lets the loop wait twice as long after each failed run in a row, up to a time. Of these failures it logs the first, and that
// the work succeeds again. It returns the loop, which must not have been started.
func (l *Loop) Slowing(longest time.Duration) *Loop {
	l.longest = longest
	return l
}

// Start begins the runs; the first comes after one interval or at the first Wake. Starting twice is an error of the
// program and panics.
func (l *Loop) Start() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.cancel != nil {
		panic("loop: " + l.name + " started twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go l.repeat(ctx)
}

// Wake asks for a run now; wakes that come while one is waiting merge into it.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run runs the work now, in the caller's goroutine, when no other run is under way, and returns its error. It also works before Start and
// after Stop.
func (l *Loop) Run(ctx context.Context) error { return l.runOnce(ctx) }

// Stop ends the loop and waits for a run under way to return.
func (l *Loop) Stop() {
	l.mutex.Lock()
	cancel, done := l.cancel, l.done
	l.mutex.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	<-done
}

func (l *Loop) repeat(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.wake:
		}
		if err := l.runOnce(ctx); ctx.Err() == nil {
			l.conclude(err, ticker)
		}
	}
}

// conclude logs what became of a run, and sets when the next one comes if that is not an interval later.
func (l *Loop) conclude(err error, ticker *time.Ticker) {
	switch {
	case err != nil && l.longest == 0:
		l.logger.Warn("periodic work failed; it is tried again at the next run", "work", l.name, "error", err)
	case err != nil:
		if l.failed++; l.failed == 1 {
			l.pauses = growingPauses(l.interval, l.longest)
			l.logger.Warn("periodic work failed; it is tried again after pauses that grow, and the next success is logged", "work", l.name,
				"error", err)
		}
		ticker.Reset(l.pauses.NextBackOff())
	case l.failed > 0:
		l.logger.Info("periodic work succeeds again", "work", l.name, "failures", l.failed)
		l.failed = 0
		ticker.Reset(l.interval)
	}
}

// growingPauses returns pauses of which the first is twice an interval, and each further one twice the one before, up to the longest.
func growingPauses(interval, longest time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: min(2*interval, longest), Multiplier: 2, MaxInterval: longest}
}

// runOnce makes an error of a panic, so that one bad run does not end the program.
func (l *Loop) runOnce(ctx context.Context) (err error) {
	defer fault.Recover(&err)
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.work(ctx)
}
