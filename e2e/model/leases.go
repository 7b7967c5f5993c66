package model

import (
	"slices"
	"strings"
	"time"
)

// Lease is an agent's hold of a scope.
type Lease struct {
	ID, Agent, Scope string
	// Fence rises with each lease of the intent.
	Fence int64
	// ExpiresAt is zero while the intent is suspended; then Left is what remains.
	ExpiresAt time.Time
	Left      time.Duration
	// Reason is why it ended; empty while it stands.
	Reason string
}

// Waiter is a call that waits for a scope. An agent has one at most in each line.
type Waiter struct {
	Agent, Scope string
	// Lasting is how long its lease shall last.
	Lasting time.Duration
}

// Leases are the leases of one intent that all agents may write to, and who waits for them.
type Leases struct {
	Now       time.Time
	Suspended bool
	// Granted are all leases that ever were, in the order in which they were granted.
	Granted []*Lease
	held    map[string]*Lease    // by scope
	lines   map[string][]*Waiter // by scope, in the order of asking
}

// NewLeases returns the leases of an intent that has none.
func NewLeases(now time.Time) *Leases {
	return &Leases{Now: now, held: make(map[string]*Lease), lines: make(map[string][]*Waiter)}
}

// Set moves the clock, which never goes back.
func (l *Leases) Set(now time.Time) {
	l.Now = now
	for _, lease := range l.held {
		if !lease.ExpiresAt.IsZero() && !now.Before(lease.ExpiresAt) {
			l.end(lease, "expired")
		}
	}
}

// Deadlines returns the moments at which leases expire, earliest first.
func (l *Leases) Deadlines() (all []time.Time) {
	for _, lease := range l.held {
		if !lease.ExpiresAt.IsZero() {
			all = append(all, lease.ExpiresAt)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// Held returns the leases that stand, in the order of their scopes.
func (l *Leases) Held() (held []*Lease) {
	for _, lease := range l.held {
		held = append(held, lease)
	}
	slices.SortFunc(held, func(a, b *Lease) int { return strings.Compare(a.Scope, b.Scope) })
	return held
}

// Waiting returns who waits for a scope, in the order of asking.
func (l *Leases) Waiting(scope string) []*Waiter { return l.lines[scope] }

// Acquire decides a call that does not wait.
func (l *Leases) Acquire(scope string) Outcome {
	if l.held[scope] != nil || len(l.lines[scope]) > 0 {
		return "LEASE_HELD"
	}
	return OK
}

// Wait decides a call that waits. If it is accepted and the scope is not free, it gets a place behind all others.
func (l *Leases) Wait(w *Waiter) (waits bool, _ Outcome) {
	holding := l.held[w.Scope]
	switch {
	case holding != nil && holding.Agent == w.Agent:
		return false, "LEASE_HELD"
	case l.Acquire(w.Scope) == OK:
		return false, OK
	case l.closesCircle(w):
		return false, "LEASE_CIRCLE"
	}
	l.lines[w.Scope] = append(l.lines[w.Scope], w)
	return true, OK
}

// closesCircle reports whether somebody for whom the waiter would have to wait waits, directly or not, for the waiter's agent.
func (l *Leases) closesCircle(w *Waiter) bool {
	reached := l.before(w, l.lines[w.Scope])
	for i := 0; i < len(reached); i++ {
		if reached[i] == w.Agent {
			return true
		}
		for _, line := range l.lines {
			for place, other := range line {
				if other.Agent == reached[i] {
					reached = append(reached, without(l.before(other, line[:place]), other.Agent)...)
				}
			}
		}
		reached = distinct(reached)
	}
	return false
}

// before returns the agents that have the scope of a waiter, or get it before that one.
func (l *Leases) before(w *Waiter, line []*Waiter) (agents []string) {
	if holding := l.held[w.Scope]; holding != nil {
		agents = append(agents, holding.Agent)
	}
	for _, earlier := range line {
		agents = append(agents, earlier.Agent)
	}
	return agents
}

// GiveUp removes a call from those who wait.
func (l *Leases) GiveUp(w *Waiter) {
	l.lines[w.Scope] = slices.DeleteFunc(slices.Clone(l.lines[w.Scope]), func(other *Waiter) bool { return other == w })
}

// Next returns the calls that must get their scopes now: these are free, and the calls asked first.
func (l *Leases) Next() (next []*Waiter) {
	for scope, line := range l.lines {
		if l.held[scope] == nil && len(line) > 0 {
			next = append(next, line[0])
		}
	}
	return next
}

// Grant makes the lease of an accepted call, with the id and the fence that the server gave it. It reports whether the fence rises.
func (l *Leases) Grant(w *Waiter, id string, fence int64) (lease *Lease, rises bool) {
	rises = len(l.Granted) == 0 || fence > l.Granted[len(l.Granted)-1].Fence
	l.GiveUp(w)
	lease = &Lease{ID: id, Agent: w.Agent, Scope: w.Scope, Fence: fence}
	l.extend(lease, w.Lasting)
	l.held[w.Scope] = lease
	l.Granted = append(l.Granted, lease)
	return lease, rises
}

// Renew makes a lease last for a time from now on. Only its holder, and the operator, find it.
func (l *Leases) Renew(caller string, lease *Lease, lasting time.Duration) Outcome {
	if !lease.foundBy(caller) {
		return "LEASE_NOT_FOUND"
	}
	l.extend(lease, lasting)
	return OK
}

// Release ends a lease. The operator so revokes another's.
func (l *Leases) Release(caller string, lease *Lease) Outcome {
	switch {
	case !lease.foundBy(caller):
		return "LEASE_NOT_FOUND"
	case caller == lease.Agent:
		l.end(lease, "released")
	default:
		l.end(lease, "revoked")
	}
	return OK
}

// Suspend stops the time of all leases, and Resume gives them what was left.
func (l *Leases) Suspend() {
	l.Suspended = true
	for _, lease := range l.held {
		lease.Left, lease.ExpiresAt = lease.ExpiresAt.Sub(l.Now), time.Time{}
	}
}

// Resume is described at Suspend.
func (l *Leases) Resume() {
	l.Suspended = false
	for _, lease := range l.held {
		l.extend(lease, lease.Left)
	}
}

func (lease *Lease) foundBy(caller string) bool {
	return lease.Reason == "" && (caller == lease.Agent || caller == Operator)
}

func (l *Leases) extend(lease *Lease, lasting time.Duration) {
	if l.Suspended {
		lease.Left, lease.ExpiresAt = lasting, time.Time{}
	} else {
		lease.Left, lease.ExpiresAt = 0, l.Now.Add(lasting)
	}
}

func (l *Leases) end(lease *Lease, reason string) {
	lease.Reason = reason
	delete(l.held, lease.Scope)
}
