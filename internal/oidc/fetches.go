package oidc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// fetchPause is the mean time between two fetches at least, and fetchBurst is how many may follow each other directly.
	fetchPause = 10 * time.Second
	fetchBurst = 3
	// fetchPatience is how long one fetch may take.
	fetchPatience = 5 * time.Second
)

// fetches lets everybody who needs a fetch at the same time share it, and paces fetches.
type fetches struct {
	fetch func(ctx context.Context) error
	now   func() time.Time
	pace  *rate.Limiter
	// closing ends the fetch under way.
	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup

	mutex sync.Mutex
	// under is closed at the end of the fetch under way; nil while there is none.
	under chan struct{}
}

func newFetches(fetch func(ctx context.Context) error, now func() time.Time) *fetches {
	f := &fetches{fetch: fetch, now: now, pace: rate.NewLimiter(rate.Every(fetchPause), fetchBurst)}
	f.closing, f.close = context.WithCancel(context.Background())
	return f
}

// join waits for the fetch under way, or for a new one. It does not wait if it is too early for a new one.
func (f *fetches) join(ctx context.Context) {
	under := f.begin()
	if under == nil {
		return
	}
	select {
	case <-under:
	case <-ctx.Done():
	}
}

// begin returns the end of the fetch under way, after beginning it if necessary. It returns nil if it is too early.
func (f *fetches) begin() <-chan struct{} {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.under == nil {
		if f.closing.Err() != nil || !f.pace.AllowN(f.now(), 1) {
			return nil
		}
		f.under = make(chan struct{})
		f.running.Go(f.run)
	}
	return f.under
}

func (f *fetches) run() {
	ctx, cancel := context.WithTimeout(f.closing, fetchPatience)
	defer cancel()
	_ = f.fetch(ctx) // the issuer remembers how it ended
	f.mutex.Lock()
	defer f.mutex.Unlock()
	close(f.under)
	f.under = nil
}

func (f *fetches) stop() {
	f.mutex.Lock()
	f.close()
	f.mutex.Unlock()
	f.running.Wait()
}
