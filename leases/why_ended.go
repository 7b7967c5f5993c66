package leases

import (
	"time"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
)

// ending is why a lease ended, as the log says it.
type ending string

const (
	endedByRelease  ending = "released"
	endedByOperator ending = "revoked"
	endedByTime     ending = "expired"
	endedByAccess   ending = "access_lost"
	endedByDeath    ending = "agent_dead"
	endedByLeaving  ending = "agent_left"
	endedByTask     ending = "task_ended"
	endedByIntent   ending = "intent_ended"
)

// surroundings are what a lease is judged by beside itself: its intent's head, locked or of a snapshot, the intent's rules, and
// the holder's presence, which is empty for an agent that never registered.
type surroundings struct {
	head     *intents.Head
	rules    *intents.Rules
	presence agents.Presence
}

// endedBy returns why a lease has ended, or "" if it has not. The end of a task and of the intent, and a release, take the lease
// away in their own transactions.
func (l *Lease) endedBy(s surroundings) ending {
	now := s.head.Now()
	switch {
	case !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt):
		return endedByTime
	case s.rules.Level(l.AgentID, l.AgentID == caller.Operator, now) < intents.PermissionWrite:
		return endedByAccess
	case s.presence.Status == agents.StatusDead:
		return endedByDeath
	case s.presence.Status == agents.StatusDeregistered:
		return endedByLeaving
	}
	return ""
}

// extend makes a lease last for a time from now on. While the intent is suspended, all of that time is left at its end.
func (l *Lease) extend(s surroundings, duration time.Duration) {
	now := s.head.Now()
	l.RenewedAt = now
	if s.head.Status == intents.StatusSuspended {
		l.ExpiresAt, l.Left = time.Time{}, duration
	} else {
		l.ExpiresAt, l.Left = now.Add(duration), 0
	}
	l.judged(s)
}

// judged notes that the lease has not ended, and when somebody has to judge it again: when its time may end it, and when the
// passing of time changes the intent's rules.
func (l *Lease) judged(s surroundings) {
	l.Epoch, l.DueAt = s.head.Epoch, l.ExpiresAt
	if change := s.rules.NextChange(s.head.Now()); l.DueAt.IsZero() || !change.IsZero() && change.Before(l.DueAt) {
		l.DueAt = change
	}
	if l.DueAt.IsZero() {
		l.DueAt = never
	}
}

// never is when a lease is due that time cannot end.
var never = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
