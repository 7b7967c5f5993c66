//go:build failover

package torture

import (
	"context"
	"sync"
	"time"
)

// pause is how long a primary must have acknowledged nothing to count as pausing.
const pause = 300 * time.Millisecond

// accepting watches from when on a new primary acknowledges writes, and when it pauses again. It does that while the standby
// that makes its commits durable comes and goes, as when Patroni rewinds a repaired node.
type accepting struct {
	stop func()

	mutex        sync.Mutex
	acknowledged []time.Time
}

// accepted waits until a node takes writes, and goes on to watch it until stop is called. With a synchronous standby, a write is
// acknowledged when the standby has it.
func (c *cluster) accepted(n *node) *accepting {
	a := &accepting{}
	a.acknowledged = append(a.acknowledged, c.acknowledges(n))
	ctx, cancel := context.WithCancel(c.t.Context())
	var running sync.WaitGroup
	a.stop = func() { cancel(); running.Wait() }
	running.Go(func() {
		for again := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-again.C {
			pool := c.at(n, "postgres")
			for _, err := pool.ExecContext(ctx, writeProbe); err == nil; _, err = pool.ExecContext(ctx, writeProbe) {
				a.note()
				<-again.C
			}
			_ = pool.Close()
		}
	})
	return a
}

func (a *accepting) note() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.acknowledged = append(a.acknowledged, time.Now())
}

// since is when the node first acknowledged a write.
func (a *accepting) since() time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.acknowledged[0]
}

// took returns how long the node had acknowledged writes until a time, without its pauses, and these.
func (a *accepting) took(until time.Time) (took, paused time.Duration) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	before := a.acknowledged[0]
	for _, at := range append(a.acknowledged[1:len(a.acknowledged):len(a.acknowledged)], until) {
		if at.After(until) {
			at = until
		}
		if gap := at.Sub(before); gap > pause {
			paused += gap
		}
		before = at
	}
	return until.Sub(a.acknowledged[0]) - paused, paused
}
