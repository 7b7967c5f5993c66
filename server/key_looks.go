package server

import (
	"context"
	"sync"
	"time"
)

const (
	// lookPause is the shortest time between the beginnings of two looks, so that guessing keys costs the database little.
	lookPause = 20 * time.Millisecond
	// lookPatience is how long one look may take.
	lookPatience = 5 * time.Second
)

// keyLooks lets everybody who needs a look at the database's keys share it with all who need one at the same time. However
// many wait, there is one look at a time, and it begins no sooner than lookPause after the one before.
type keyLooks struct {
	look func(ctx context.Context) error
	// closing ends the looks when the server stops.
	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup

	mutex sync.Mutex
	// next is the look that has not begun yet; nil if nobody waits for one.
	next *keyLook
	// looking is true while a goroutine makes looks.
	looking bool
}

// keyLook is one look, for all who wait for it.
type keyLook struct {
	done chan struct{}
	err  error
}

func newKeyLooks(look func(ctx context.Context) error) *keyLooks {
	l := &keyLooks{look: look}
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// after returns once a look has ended that began after this call. It fails if the look failed, or if the context or the server
// ends.
func (l *keyLooks) after(ctx context.Context) error {
	next := l.coming()
	if next == nil {
		return errStopping
	}
	select {
	case <-next.done:
		return next.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// coming returns the next look, or nil if there is none because the server stops.
func (l *keyLooks) coming() *keyLook {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closing.Err() != nil {
		return nil
	}
	if l.next == nil {
		l.next = &keyLook{done: make(chan struct{})}
	}
	if !l.looking {
		l.looking = true
		l.running.Go(l.run)
	}
	return l.next
}

// run makes looks until nobody waits for one.
func (l *keyLooks) run() {
	for next := l.begin(); next != nil; next = l.begin() {
		pause := time.NewTimer(lookPause)
		ctx, cancel := context.WithTimeout(l.closing, lookPatience)
		next.err = l.look(ctx)
		cancel()
		close(next.done)
		select {
		case <-pause.C:
		case <-l.closing.Done():
			pause.Stop()
		}
	}
}

// begin takes the next look; those who come from now on wait for the one after it.
func (l *keyLooks) begin() *keyLook {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	next := l.next
	l.next, l.looking = nil, next != nil
	return next
}

// stop ends the look under way and waits for it.
func (l *keyLooks) stop() {
	l.mutex.Lock()
	l.close()
	l.mutex.Unlock()
	l.running.Wait()
}
