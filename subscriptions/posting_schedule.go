package subscriptions

import (
	"container/heap"
	"time"
)

// schedule contains the resting subscriptions, and first the one that must be examined next. The cost of adding or removing one
// grows with the logarithm of their number. The poster's mutex guards it.
type schedule struct{ timers timers }

// add puts a subscription into the schedule, or moves it if it is already there.
func (s *schedule) add(f *followed, at time.Time) {
	f.at = at
	if f.scheduled() {
		heap.Fix(&s.timers, f.index-1)
		return
	}
	heap.Push(&s.timers, f)
}

// remove takes a subscription out of the schedule, if it is there.
func (s *schedule) remove(f *followed) {
	if f.scheduled() {
		heap.Remove(&s.timers, f.index-1)
	}
}

// next returns the subscription that must be examined next, or nil when none rests.
func (s *schedule) next() *followed {
	if len(s.timers) == 0 {
		return nil
	}
	return s.timers[0]
}

// timers implements what container/heap needs to keep the earliest subscription first.
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
