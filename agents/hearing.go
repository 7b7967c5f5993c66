package agents

import (
	"sync"
	"time"
)

const (
	// sweepGap is how far two sweeps may lie apart at most for the time between them to count as time in which heartbeats
	// could be heard.
	sweepGap = 10 * time.Second
	// clockSkew is how far a stored time may lie ahead of the clock for other reasons than that the clock was set back.
	clockSkew = time.Second
)

// hearing is what silence is judged by: the time of a sweep, and since when without a gap heartbeats could be heard.
type hearing struct{ now, since time.Time }

// attention knows since when this replica has been sweeping without a gap. Whatever keeps the sweep from its turns keeps
// agents from being heard as well, as far as this replica can tell: the server was stopped or frozen, the database was away,
// the clock was set on. None of it is silence. A replica that takes the sweep over from another begins anew, which puts
// judgement off by an agent's own threshold at most.
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

// end notes that a sweep reached the database. What happened since it began is for the next one to judge.
func (a *attention) end(h hearing) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.sweptAt = h.now
}
