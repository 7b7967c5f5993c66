package webhooks

import (
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// failuresToOpen in a row open a circuit.
	failuresToOpen = 5
	// The pause of an open circuit doubles from the first to the longest while probes fail.
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
	// probeWait is how long posts are asked to wait if they come while a probe is under way.
	probeWait = time.Second
)

// circuit keeps posts away from an endpoint that does not work.
//
//	closed ──failuresToOpen in a row──> open ──pause over, one post admitted──> probing
//	   ^                                  ^                                        │
//	   └────────────── success ───────────┼──────────────── success ───────────────┤
//	                                      └── failure (the pause doubles) ─────────┘
//
// A success always closes the circuit. A failure counts only in the state in which its post was admitted, so posts that were
// under way when the circuit opened do not lengthen the pause.
type circuit struct {
	mutex    sync.Mutex
	failures int
	// pause is 0 while the circuit is closed, and otherwise the latest of pauses.
	pause     time.Duration
	pauses    backoff.ExponentialBackOff
	openUntil time.Time
	probing   bool
	// proven is true once a post succeeded.
	proven bool
	// era counts the changes of state.
	era int
}

// outcome is how a post ended, as far as the circuit is concerned.
type outcome int

const (
	succeeded outcome = iota
	failed
	// undecided says nothing about the endpoint, because the caller gave the post up.
	undecided
)

// admit asks for permission for one post. If the circuit refuses, wait is how long to wait. Otherwise wait is 0, and the caller
// must call settle with the era.
func (c *circuit) admit(now time.Time) (era int, wait time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if wait := c.resting(now); wait > 0 {
		return 0, wait
	}
	if c.pause > 0 {
		c.probing = true
	}
	return c.era, 0
}

// waiting returns how long the circuit will refuse posts; 0 means that one may try.
func (c *circuit) waiting(now time.Time) time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.resting(now)
}

// working reports whether the endpoint has ever answered and its last post did not fail.
func (c *circuit) working() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.proven && c.failures == 0
}

func (c *circuit) resting(now time.Time) time.Duration {
	switch {
	case c.pause == 0:
		return 0
	case c.probing:
		return probeWait
	}
	if wait := c.openUntil.Sub(now); wait <= c.pause { // otherwise the clock was set back, and the pause is over
		return max(wait, 0)
	}
	return 0
}

// settle notes how an admitted post ended.
func (c *circuit) settle(era int, how outcome, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case how == succeeded:
		if c.pause > 0 {
			c.era++
		}
		c.proven, c.failures, c.pause, c.probing = true, 0, 0, false
	case era != c.era:
	case how == undecided:
		c.probing = false
	case how == failed:
		c.failures++
		if c.failures < failuresToOpen {
			return
		}
		if c.pause == 0 {
			c.pauses = backoff.ExponentialBackOff{InitialInterval: firstPause, Multiplier: 2, MaxInterval: longestPause}
		}
		c.pause = c.pauses.NextBackOff()
		c.openUntil = now.Add(c.pause)
		c.probing = false
		c.era++
	}
}
