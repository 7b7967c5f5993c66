package intents

import (
	"sync"
	"time"
)

const (
	// maxLead is how far a head's newest time may lie ahead of the clock and still count as the difference between the clocks
	// of two replicas.
	maxLead = time.Second
	// leadWarnings is how often it is logged at most that heads lie further ahead.
	leadWarnings = time.Minute
)

// At gives the time of a decision about the intent while the clock shows a time: that, but not before the newest position's
// time, so that replicas whose clocks differ a little decide alike. A head that lies more than a second ahead was written
// while the clock was wrong. Then the clock alone decides, and only the times that Next and Tick hand out go on from there.
func (h *Head) At(clock time.Time) time.Time {
	if h.leads(clock) > maxLead {
		return clock
	}
	return later(clock, h.LastAt)
}

// leads tells how far the newest position's time lies ahead of the clock.
func (h *Head) leads(clock time.Time) time.Duration { return h.LastAt.Sub(clock) }

// leadWatch notices commits to intents whose logs lie ahead of the clock, which was set back then.
type leadWatch struct {
	mutex    sync.Mutex
	warnedAt time.Time
	unsaid   int // such commits since then
}

// notice counts a commit. Once in a while it tells how many there were, so that it is logged.
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

// watchLead says that a commit went to an intent whose log lies ahead of the clock, if it does.
func (s *Service) watchLead(head *Head) {
	now := head.ledger.now
	if now.IsZero() || head.leads(now) <= maxLead {
		return
	}
	if s.observeLead != nil {
		s.observeLead()
	}
	if commits := s.lead.notice(now); commits > 0 {
		s.logger.Warn("the clock is behind what intents' logs have: it was set back, or was wrong before; "+
			"new entries get times that go on from the logs', deadlines follow the clock",
			"intent", head.IntentID, "ahead_seconds", head.leads(now).Seconds(), "commits", commits)
	}
}
