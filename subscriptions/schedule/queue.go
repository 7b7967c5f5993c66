package schedule

import (
	"container/heap"
	"time"
)

// Timer is a place in a queue. At is when its time comes, and index its place, counted from 1; index is 0 without a place. The mutex
// of the queue's owner guards it.
type Timer struct {
	At    time.Time
	index int
}

func (t *Timer) own() *Timer { return t }

// Scheduled reports whether the timer has a place in a queue.
func (t *Timer) Scheduled() bool { return t.index > 0 }

// timed is what has a place in a queue: it embeds a timer.
type timed interface{ own() *Timer }

// Queue is a priority queue: what is due next comes first. The cost of adding or removing something grows with the
// logarithm of their number. Its owner guards it by a mutex.
type Queue[T timed] struct{ timers timers[T] }

// Add puts something into the queue, or moves it if it is already there.
func (s *Queue[T]) Add(one T, at time.Time) {
	timer := one.own()
	timer.At = at
	if timer.Scheduled() {
		heap.Fix(&s.timers, timer.index-1)
		return
	}
	heap.Push(&s.timers, one)
}

// Remove takes something out of the queue, if it is there.
func (s *Queue[T]) Remove(one T) {
	if timer := one.own(); timer.Scheduled() {
		heap.Remove(&s.timers, timer.index-1)
	}
}

// Next returns what is due next, or nil when the queue is empty.
func (s *Queue[T]) Next() (next T) {
	if len(s.timers) > 0 {
		next = s.timers[0]
	}
	return next
}

// timers implements what container/heap needs to keep the earliest first.
type timers[T timed] []T

func (t timers[T]) Len() int           { return len(t) }
func (t timers[T]) Less(i, j int) bool { return t[i].own().At.Before(t[j].own().At) }

func (t timers[T]) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].own().index, t[j].own().index = i+1, j+1
}

func (t *timers[T]) Push(one any) {
	*t = append(*t, one.(T))
	one.(T).own().index = len(*t)
}

func (t *timers[T]) Pop() any {
	var none T
	last := len(*t) - 1
	removed := (*t)[last]
	(*t)[last] = none
	*t = (*t)[:last]
	removed.own().index = 0
	return removed
}
