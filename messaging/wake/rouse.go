package wake

import "slices"

// Roused are the listeners that RouseAll has asked to look again.
type Roused []*Listener

// RouseAll asks every listener here to look again, as a wake-up for everything does, and returns those of which one can tell whether they
// have done so: all but the ones that are called.
func (h *Hub) RouseAll() (roused Roused) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for l := range h.waiting() {
		l.rousing.Lock() // so that it does not seem to rest before it is woken
		l.roused.Store(true)
		roused = append(roused, l)
	}
	h.giveAll()
	for _, l := range roused {
		l.rousing.Unlock()
	}
	return roused
}

// waiting returns the listeners, and the members of groups, that wait on a channel. The mutex is held.
func (h *Hub) waiting() map[*Listener]struct{} {
	found := make(map[*Listener]struct{})
	for _, listeners := range h.listeners {
		for l := range listeners {
			if l.is == nil && l.calls == nil {
				found[l] = struct{}{}
			}
			if l.is == nil {
				continue
			}
			for member := range l.is.members {
				if member.calls == nil {
					found[member] = struct{}{}
				}
			}
		}
	}
	return found
}

// Resting reports whether each of them has looked and waits again, or has ended.
func (r Roused) Resting() bool {
	return !slices.ContainsFunc(r, func(l *Listener) bool { return l.roused.Load() })
}

// rest notes that the listener waits again, unless there is another wake-up to look after.
func (l *Listener) rest() {
	l.rousing.Lock()
	defer l.rousing.Unlock()
	if len(l.wake) == 0 {
		l.roused.Store(false)
	}
}
