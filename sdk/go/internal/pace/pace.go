// Package pace is the time by which clients and agents keep what they hold: they renew claims and leases by it, and send heartbeats. It is
// the process's own, except for clients of a server in a test, which lets it pass faster (package openintenttest).
//
//	Work --Until--> sleeps by this time --its time comes, or Move brings it--> works --Until, End--> ...
//
// What must hold: Move returns when the work that it woke sleeps again or has ended, or after two seconds. The time of one server never moves
// that of another.
package pace

import (
	"context"
	"sync"
	"time"
)

// settlesWithin bounds how long Move waits.
const settlesWithin = 2 * time.Second

// Pace is the time of all clients of a server. The zero value is the process's own time until somebody moves it.
type Pace struct {
	mutex    sync.Mutex
	moved    time.Duration
	sleeping map[*Work]sleep
	// working has the works that Move has woken. rested is closed, and replaced, whenever one of them sleeps again or ends.
	working map[*Work]struct{}
	rested  chan struct{}
}

// sleep is a work that waits for a time.
type sleep struct {
	until time.Time
	woken chan struct{}
}

var (
	own    Pace
	tested sync.Map // of *Pace, by the addresses of servers
)

// Of returns the time of the clients of the server at an address.
func Of(server string) *Pace {
	if found, ok := tested.Load(server); ok {
		return found.(*Pace)
	}
	return &own
}

// Begin gives the clients of a server a time of their own. Call it before they begin, and call end when they have ended.
func Begin(server string) (begun *Pace, end func()) {
	begun = &Pace{}
	tested.Store(server, begun)
	return begun, func() { tested.Delete(server) }
}

// Now returns the time.
func (p *Pace) Now() time.Time {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.now()
}

func (p *Pace) now() time.Time { return time.Now().Add(p.moved) }

// Move lets so much time pass, and returns when the work that fell due is done.
func (p *Pace) Move(by time.Duration) {
	p.mutex.Lock()
	p.moved += by
	for work, sleeps := range p.sleeping {
		if sleeps.until.After(p.now()) {
			continue
		}
		if p.working == nil {
			p.working, p.rested = make(map[*Work]struct{}), make(chan struct{})
		}
		p.working[work] = struct{}{}
		close(sleeps.woken)
		delete(p.sleeping, work)
	}
	p.mutex.Unlock()
	late := time.NewTimer(settlesWithin)
	defer late.Stop()
	for {
		p.mutex.Lock()
		left, change := len(p.working), p.rested
		p.mutex.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-change:
		case <-late.C:
			return
		}
	}
}

// UntilNext returns how long it is until a work is due, and false if none sleeps.
func (p *Pace) UntilNext() (wait time.Duration, some bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, sleeps := range p.sleeping {
		if left := sleeps.until.Sub(p.now()); !some || left < wait {
			wait, some = left, true
		}
	}
	return wait, some
}

// Work is something that is done again and again.
type Work struct{ pace *Pace }

// Work begins a work. It sleeps and works in one goroutine, which calls End after the last time.
func (p *Pace) Work() *Work { return &Work{p} }

// Plan says when the work will be done first, before its goroutine waits for that.
func (w *Work) Plan(at time.Time) { w.sleep(at) }

// Now returns the time.
func (w *Work) Now() time.Time { return w.pace.Now() }

// Until waits until a time has come, or returns the context's error.
func (w *Work) Until(ctx context.Context, at time.Time) error { return w.UntilOr(ctx, at, nil) }

// UntilOr waits like Until, but no longer than until there is something in a channel, which it takes.
func (w *Work) UntilOr(ctx context.Context, at time.Time, sooner <-chan struct{}) error {
	woken, wait := w.sleep(at)
	defer w.rise()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-woken:
		return ctx.Err()
	case <-timer.C:
		return nil
	case <-sooner:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End says that nothing more is to be done.
func (w *Work) End() {
	w.pace.mutex.Lock()
	defer w.pace.mutex.Unlock()
	w.rest()
}

// sleep notes when the work is due. If it already is, the work does not rest.
func (w *Work) sleep(until time.Time) (woken chan struct{}, wait time.Duration) {
	w.pace.mutex.Lock()
	defer w.pace.mutex.Unlock()
	woken = make(chan struct{})
	if wait = until.Sub(w.pace.now()); wait <= 0 {
		close(woken)
		return woken, wait
	}
	w.rest()
	if w.pace.sleeping == nil {
		w.pace.sleeping = make(map[*Work]sleep)
	}
	w.pace.sleeping[w] = sleep{until, woken}
	return woken, wait
}

func (w *Work) rise() {
	w.pace.mutex.Lock()
	defer w.pace.mutex.Unlock()
	delete(w.pace.sleeping, w)
}

// rest notes that a work that Move has woken is done. The mutex is held.
func (w *Work) rest() {
	if _, worked := w.pace.working[w]; worked {
		delete(w.pace.working, w)
		close(w.pace.rested)
		w.pace.rested = make(chan struct{})
	}
}
