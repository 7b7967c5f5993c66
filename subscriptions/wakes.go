package subscriptions

import "sync"

// wakes ask whoever waits on a subscription to look again: something was gathered, acknowledged or redriven, or its
// consumer left. Like every wake-up they carry no truth and stay in the process; others notice when they look by themselves.
type wakes struct {
	mutex   sync.Mutex
	waiting map[int64]map[*waiter]struct{} // by subscription_no
}

// waiter is one waiting party. Wakes that come while it is not waiting merge into one.
type waiter struct {
	wakes *wakes
	no    int64
	wake  chan struct{}
}

func newWakes() *wakes { return &wakes{waiting: make(map[int64]map[*waiter]struct{})} }

// wait begins waiting on a subscription. Call close when done.
func (w *wakes) wait(no int64) *waiter {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.waiting[no] == nil {
		w.waiting[no] = make(map[*waiter]struct{})
	}
	one := &waiter{wakes: w, no: no, wake: make(chan struct{}, 1)}
	w.waiting[no][one] = struct{}{}
	return one
}

func (w *waiter) close() {
	w.wakes.mutex.Lock()
	defer w.wakes.mutex.Unlock()
	delete(w.wakes.waiting[w.no], w)
	if len(w.wakes.waiting[w.no]) == 0 {
		delete(w.wakes.waiting, w.no)
	}
}

// wakeUp asks everyone who waits on a subscription to look again.
func (w *wakes) wakeUp(no int64) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for one := range w.waiting[no] {
		select {
		case one.wake <- struct{}{}:
		default:
		}
	}
}
