package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Loop repeats one piece of work. Make it with New.
type Loop struct {
	name     string
	interval time.Duration
	work     func(context.Context) error
	logger   *slog.Logger

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
}

// New makes a loop that is not yet running. The name appears in the log when a turn fails.
func New(name string, interval time.Duration, logger *slog.Logger, work func(context.Context) error) *Loop {
	return &Loop{name: name, interval: interval, work: work, logger: logger, wake: make(chan struct{}, 1)}
}

// Start begins the turns; the first comes after one interval or at the first Wake. Starting twice is an error of the
// program and panics.
func (l *Loop) Start() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.cancel != nil {
		panic("loop: " + l.name + " started twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go l.run(ctx)
}

// Wake asks for a turn now; wakes that come while one is waiting merge into it.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Stop ends the loop and waits for a turn under way to return.
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

func (l *Loop) run(ctx context.Context) {
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
		if err := l.turn(ctx); err != nil && ctx.Err() == nil {
			l.logger.Warn("periodic work failed; it is tried again at the next turn", "work", l.name, "error", err)
		}
	}
}

// turn runs the work once and turns a panic into an error, so that one bad turn does not end the program.
func (l *Loop) turn(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return l.work(ctx)
}
