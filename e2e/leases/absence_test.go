package leases

import (
	"slices"
	"testing"
	"time"

	"openintent/e2e/replica"
)

// The reasons of an absence are those with which leases end by it.
const (
	dead = "agent_dead"
	lost = "access_lost"
)

// names are those of the workers, without the ones that are gone for a reason.
func (f *fight) names(without string) (names []string) {
	for _, w := range f.crowd {
		if w.gone == "" || w.gone != without {
			names = append(names, w.name)
		}
	}
	return names
}

// leave waits until those who fell silent count as dead, and takes access from some workers. Sometimes somebody sweeps before
// anything else happens.
func (f *fight) leave(t *testing.T) {
	t.Helper()
	if f.change(t, Going, Gone, dead, f.silent(), func(names []string) {
		replica.PassSilence(t, f.replicas, names...)
		f.base = f.base.Add(replica.Silence)
	}) && f.draw.IntN(2) == 0 {
		f.sweep(t, f.replicas[0])
	}
	if f.change(t, Going, Gone, lost, f.some(12, func(w *worker) bool {
		return w.gone == "" && !w.silent && len(w.held) > 0
	}), func([]string) { f.giveAccess(t, f.names(lost)) }) && f.draw.IntN(2) == 0 {
		f.sweep(t, f.replicas[len(f.replicas)-1])
	}
}

// come lets some of those who are gone come back.
func (f *fight) come(t *testing.T) {
	t.Helper()
	f.change(t, Returning, Returned, dead, f.some(3, func(w *worker) bool { return w.gone == dead }), func(names []string) {
		for _, name := range names {
			f.replicas[0].Register(t, name)
		}
	})
	f.change(t, Returning, Returned, lost, f.some(3, func(w *worker) bool { return w.gone == lost }), func([]string) {
		f.giveAccess(t, f.names(lost))
	})
}

// change makes a change that lets workers go or come back, and notes before and after it that it happens. It reports whether there
// were any.
func (f *fight) change(t *testing.T, before, after Kind, reason string, who []*worker, do func(names []string)) bool {
	t.Helper()
	var names []string
	for _, w := range who {
		names = append(names, w.name)
		f.note(t, Entry{Kind: before, Agent: w.name, Reason: reason})
		w.gone, w.silent = reason, false
		if before == Returning {
			w.gone = ""
		}
	}
	if len(names) == 0 {
		return false
	}
	do(names)
	for _, name := range names {
		f.note(t, Entry{Kind: after, Agent: name, Reason: reason})
	}
	return true
}

func (f *fight) silent() []*worker {
	return slices.DeleteFunc(slices.Clone(f.crowd), func(w *worker) bool { return !w.silent })
}

// some draws one in so many of the workers for which a condition holds.
func (f *fight) some(oneIn int, condition func(w *worker) bool) (drawn []*worker) {
	for _, w := range f.crowd {
		if condition(w) && f.draw.IntN(oneIn) == 0 {
			drawn = append(drawn, w)
		}
	}
	return drawn
}

// passTime moves the clocks on, by more than a lease lasts or by less, each differently and some back. Sometimes somebody sweeps,
// and some workers come back.
func (f *fight) passTime(t *testing.T) {
	t.Helper()
	f.base = f.base.Add(time.Duration(f.draw.IntN(45)) * time.Second)
	for _, r := range f.replicas {
		r.Clock.Set(f.base.Add(time.Duration(f.draw.IntN(4001)-2000) * time.Millisecond))
		if f.draw.IntN(2) == 0 {
			f.sweep(t, r)
		}
	}
	f.come(t)
}
