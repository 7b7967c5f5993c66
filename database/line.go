package database

import (
	"context"
	"sync"
	"time"

	"openintent/fault"
)

const (
	// heavyConnections is how many heavy reads run at once.
	heavyConnections = 2
	// heavyWaiting bounds the heavy reads that wait, heavyWaitingEach those of one caller.
	heavyWaiting     = 256
	heavyWaitingEach = 64
)

// ErrCrowded is the refusal of a heavy read while too many wait.
var ErrCrowded = fault.New(fault.Quota, "TOO_MANY_READS",
	"Too many large reads wait already, of this caller or of all; send fewer at once and try again in a moment.").
	After(time.Second)

// line lets a few in at a time. Those who wait are let in caller by caller, one of each in turn, so that a caller who sends
// many delays another by one only. Whoever comes when too many wait is turned away.
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

// enter waits for the caller's turn. Whoever entered must leave.
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

// join takes a free place, or gives what tells when there is one.
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

// quit takes somebody out of the queue, and tells whether it was still in there.
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

// leave hands the place on to the caller whose turn it is.
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

// remove takes the waiting one at an index out of a caller's queue.
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
