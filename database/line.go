package database

import (
	"context"
	"sync"
	"time"

	"openintent/fault"
)

const (
	// heavyReaders is how many heavy reads run simultaneously, unless Connections says otherwise.
	heavyReaders = 2
	// heavyWaiting bounds the heavy reads that wait; heavyWaitingEach bounds those of one caller.
	heavyWaiting     = 256
	heavyWaitingEach = 64
)

// ErrCrowded refuses a heavy read while too many are waiting.
var ErrCrowded = fault.New(fault.Quota, "TOO_MANY_READS",
	"Too many large reads are waiting already, from this caller or from all callers; send fewer at a time and try again in a moment.").
	After(time.Second)

// line admits a few reads at a time. It admits waiting reads caller by caller, one read of each caller in turn, so a caller with
// many reads delays another caller by only one of them. It refuses a read if too many are waiting.
type line struct {
	most, mostEach int

	mutex   sync.Mutex
	free    int
	waiting int
	queues  map[string][]chan struct{} // by caller, the oldest first; never an empty one
	turns   []string                   // the callers with a queue, the next one first
}

func newLine(places, most, mostEach int) *line {
	return &line{free: places, most: most, mostEach: mostEach, queues: make(map[string][]chan struct{})}
}

// enter waits for the caller's turn. A caller that has entered must leave.
func (l *line) enter(ctx context.Context, by string) error {
	turn, err := l.join(by)
	if turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		if !l.quit(by, turn) {
			l.leave() // the turn came meanwhile
		}
		return ctx.Err()
	}
}

// join takes a free place, or returns a channel that is closed when there is one.
func (l *line) join(by string) (turn chan struct{}, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.free > 0 {
		l.free--
		return nil, nil
	}
	queue := l.queues[by]
	if l.waiting == l.most || len(queue) == l.mostEach {
		return nil, ErrCrowded
	}
	if len(queue) == 0 {
		l.turns = append(l.turns, by)
	}
	turn = make(chan struct{})
	l.queues[by] = append(queue, turn)
	l.waiting++
	return turn, nil
}

// quit removes a waiting read from the queue, and reports whether it was still in there.
func (l *line) quit(by string, turn chan struct{}) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, other := range l.queues[by] {
		if other == turn {
			l.remove(by, i)
			return true
		}
	}
	return false
}

// leave gives the place to the next caller.
func (l *line) leave() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.turns) == 0 {
		l.free++
		return
	}
	by := l.turns[0]
	next := l.queues[by][0]
	l.remove(by, 0)
	if len(l.queues[by]) > 0 {
		l.turns = append(l.turns[1:], by)
	}
	close(next)
}

// remove takes the read at an index out of a caller's queue.
func (l *line) remove(by string, index int) {
	queue := l.queues[by]
	l.waiting--
	if len(queue) > 1 {
		l.queues[by] = append(queue[:index:index], queue[index+1:]...)
		return
	}
	delete(l.queues, by)
	for i, other := range l.turns {
		if other == by {
			l.turns = append(l.turns[:i:i], l.turns[i+1:]...)
			return
		}
	}
}
