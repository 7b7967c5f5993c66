package subscriptions

import (
	"container/heap"
	"time"
)

// timer is a place in a schedule. at is when its time comes, and index its place, counted from 1; index is 0 without a place. The mutex
// of the schedule's owner guards it.
type timer struct {
	at    time.Time
	index int
}

func (t *timer) own() *timer { return t }

// scheduled reports whether the timer has a place in a schedule.
func (t *timer) scheduled() bool { return t.index > 0 }

// timed is what has a place in a schedule: it embeds a timer.
type timed interface{ own() *timer }

// schedule is a priority queue: what is due next comes first. The cost of adding or removing something grows with the
// logarithm of their number. Its owner guards it by a mutex.
type schedule[T timed] struct{ timers timers[T] }

// add puts something into the schedule, or moves it if it is already there.
func (s *schedule[T]) add(one T, at time.Time) {
	timer := one.own()
	timer.at = at
	if timer.scheduled() {
		heap.Fix(&s.timers, timer.index-1)
		return
	}
	heap.Push(&s.timers, one)
}

// remove takes something out of the schedule, if it is there.
func (s *schedule[T]) remove(one T) {
	if timer := one.own(); timer.scheduled() {
		heap.Remove(&s.timers, timer.index-1)
	}
}

// next returns what is due next, or nil when the schedule is empty.
func (s *schedule[T]) next() (next T) {
	if len(s.timers) > 0 {
		next = s.timers[0]
	}
	return next
}

// timers implements what container/heap needs to keep the earliest first.
type timers[T timed] []T

func (t timers[T]) Len() int           { return len(t) }
func (t timers[T]) Less(i, j int) bool { return t[i].own().at.Before(t[j].own().at) }

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
