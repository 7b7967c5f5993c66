package delivering

import (
	"context"
	"sync"
)

// turns let the fetches of a subscription on this replica look and gather one after the other. Each would read the same pages otherwise, and
// only one could number them. The others find that it is done.
type turns struct {
	mutex sync.Mutex
	of    map[int64]*turn
}

// turn is taken by whoever gathers for a subscription. users are those who have it or wait for it; the mutex of turns guards that.
type turn struct {
	taken chan struct{}
	users int
}

func newTurns() *turns { return &turns{of: make(map[int64]*turn)} }

// take waits for the turn of a subscription. The caller must call done.
func (t *turns) take(ctx context.Context, no int64) (done func(), err error) {
	t.mutex.Lock()
	one := t.of[no]
	if one == nil {
		one = &turn{taken: make(chan struct{}, 1)}
		t.of[no] = one
	}
	one.users++
	t.mutex.Unlock()
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; t.leave(no, one) }, nil
	case <-ctx.Done():
		t.leave(no, one)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) leave(no int64, one *turn) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if one.users--; one.users == 0 {
		delete(t.of, no)
	}
}
