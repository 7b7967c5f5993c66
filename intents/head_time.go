package intents

import (
	"sync"
	"time"
)

const (
	// maxLead is how far a head's newest time may lie ahead of the clock and still count as the difference between the clocks
	// of two replicas.
	maxLead = time.Second
	// leadWarnings is the shortest time between two warnings in the log that heads lie further ahead.
	leadWarnings = time.Minute
)

// At returns the time of a decision about the intent while the clock shows the given time. It is the clock's time, but not
// before the newest position's time, so that replicas decide alike if their clocks differ a little. A head that lies more
// than a second ahead was written while the clock was wrong. The clock alone decides then, and only the times that Next and
// Tick hand out continue from the head's time.
func (h *Head) At(clock time.Time) time.Time {
	if h.leads(clock) > maxLead {
		return clock
	}
	return later(clock, h.LastAt)
}

// leads returns how far the newest position's time lies ahead of the clock.
func (h *Head) leads(clock time.Time) time.Duration { return h.LastAt.Sub(clock) }

// leadWatch counts commits to intents whose logs lie ahead of the clock, because the clock was set back.
type leadWatch struct {
	mutex    sync.Mutex
	warnedAt time.Time
	unsaid   int // such commits since the last warning
}

// notice counts a commit. Once per leadWarnings it returns how many there were, so that the caller logs them; otherwise it
// returns zero.
func (w *leadWatch) notice(now time.Time) (commits int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.unsaid++
	if now.Sub(w.warnedAt).Abs() < leadWarnings {
		return 0
	}
	commits, w.warnedAt, w.unsaid = w.unsaid, now, 0
	return commits
}

// watchLead reports a commit to an intent if the intent's log lies ahead of the clock.
func (s *Service) watchLead(head *Head) {
	now := head.lockedWith.now
	if now.IsZero() || head.leads(now) <= maxLead {
		return
	}
	if s.observeLead != nil {
		s.observeLead()
	}
	if commits := s.lead.notice(now); commits > 0 {
		s.logger.Warn("the clock is behind the times in intents' logs: it was set back, or was wrong before; "+
			"times of new entries continue from the logs, deadlines follow the clock",
			"intent", head.IntentID, "ahead_seconds", head.leads(now).Seconds(), "commits", commits)
	}
}
