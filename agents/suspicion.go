package agents

import (
	"fmt"
	"time"
)

// Suspicion is why an agent counts as unhealthy or dead. It is empty for any other status.
type Suspicion struct {
	// SilentSince is when the agent was last heard of; zero if a call, not silence, changed its status.
	SilentSince time.Time
	// DeadAt is when it became dead; zero if it is not.
	DeadAt time.Time
	// Why says it in plain words.
	Why string
}

// maxWhy bounds the reason of a call that a record keeps, in characters.
const maxWhy = 200

// suspectSilent changes an agent's status because it was silent for longer than its threshold.
func (a *Agent) suspectSilent(next Status, now time.Time) {
	threshold := a.Silence.UnhealthyAfter
	if next == StatusDead {
		threshold = a.Silence.DeadAfter
	}
	a.become(next, now)
	a.suspect(now, fmt.Sprintf("No heartbeat for %d s; the agent promised one every %d s and counts as %s after %d s.",
		int64(now.Sub(a.LastHeartbeatAt)/time.Second), a.Silence.Interval, next, threshold))
	a.SilentSince = a.LastHeartbeatAt
}

// suspectSaid notes why a call has changed an agent's status to unhealthy or dead.
func (a *Agent) suspectSaid(now time.Time, reason string) {
	if said := []rune(reason); len(said) > maxWhy {
		reason = string(said[:maxWhy])
	}
	if reason == "" {
		reason = "A call set this status and gave no reason."
	}
	a.suspect(now, reason)
}

func (a *Agent) suspect(now time.Time, why string) {
	switch a.Status {
	case StatusDead:
		a.Suspicion = Suspicion{DeadAt: now, Why: why}
	case StatusUnhealthy:
		a.Suspicion = Suspicion{Why: why}
	}
}
