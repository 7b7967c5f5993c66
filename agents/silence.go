package agents

import (
	"sync"
	"time"
)

const (
	// sweepGap is the longest time between two sweeps that still counts as time in which the server could hear heartbeats.
	sweepGap = 10 * time.Second
	// clockSkew is how far a stored time may lie ahead of the clock before we conclude that the clock was set back.
	clockSkew = time.Second
)

// hearing is what a sweep judges silence by: the time of the sweep, and since when the server could hear heartbeats without
// a gap.
type hearing struct{ now, since time.Time }

// attention knows since when this replica has been sweeping without a gap. A gap between sweeps means that the server was
// stopped or frozen, that the database was away, or that the clock was set forward. As far as this replica can tell, nobody
// could hear the agents meanwhile, so a gap is not silence. A replica that takes over the sweep from another begins anew,
// which delays a judgement by the agent's own threshold at most.
type attention struct {
	mutex          sync.Mutex
	since, sweptAt time.Time
}

// begin begins a sweep.
func (a *attention) begin(now time.Time) hearing {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if now.Sub(a.sweptAt) > sweepGap || now.Before(a.since) {
		a.since = now
	}
	return hearing{now: now, since: a.since}
}

// end notes that a sweep reached the database. The next sweep judges what happened after this one began.
func (a *attention) end(h hearing) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.sweptAt = h.now
}
