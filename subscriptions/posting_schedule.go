package subscriptions

import (
	"container/heap"
	"time"
)

// schedule holds the resting subscriptions, the one first that is to be examined next. What it costs to add or remove one
// grows with the logarithm of their number. The poster's mutex guards it.
type schedule struct{ timers timers }

// add puts a subscription in, or moves it when it is in already.
func (s *schedule) add(f *followed, at time.Time) {
	f.at = at
	if f.scheduled() {
		heap.Fix(&s.timers, f.index-1)
		return
	}
	heap.Push(&s.timers, f)
}

// remove takes a subscription out, if it is in.
func (s *schedule) remove(f *followed) {
	if f.scheduled() {
		heap.Remove(&s.timers, f.index-1)
	}
}

// next gives the subscription that is to be examined next; nil when none rests.
func (s *schedule) next() *followed {
	if len(s.timers) == 0 {
		return nil
	}
	return s.timers[0]
}

// timers are what container/heap needs to keep the earliest subscription first.
type timers []*followed

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i+1, j+1
}

func (t *timers) Push(f any) {
	added := f.(*followed)
	*t = append(*t, added)
	added.index = len(*t)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	removed := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	removed.index = 0
	return removed
}
