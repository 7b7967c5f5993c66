package leases

import (
	"strconv"
	"strings"
	"time"

	"openintent/internal/fault"
)

// ErrNotFound means that the lease has ended, never was, or is another agent's.
var ErrNotFound = fault.New(fault.NotFound, "LEASE_NOT_FOUND",
	"The caller holds no such lease: it has ended, or it is another agent's; acquire the scope anew.")

var (
	errLeaving = fault.New(fault.Conflict, "AGENT_LEAVING",
		"An agent that is draining, dead or deregistered gets no lease; register it again first.")
	errTooMany = fault.New(fault.Quota, "TOO_MANY_LEASES",
		"The agent holds %d leases in this intent, which is the most that it may; release one first.", maxHeld)
	errTooManyWait = fault.New(fault.Quota, "TOO_MANY_LEASE_WAITERS",
		"Too many calls wait for scopes of this intent, or of this agent; try again later.").After(time.Second)
	errTask = fault.BadField("scope", "a scope that begins with task: must name a task of the intent that has not ended.")
)

// held refuses a scope that has a holder. now is the time of the intent.
func held(l *Lease, intentID, by string, now time.Time) error {
	sentence := "The lease of this scope belongs to " + l.AgentID + "; wait for it, or ask that agent."
	if l.AgentID == by {
		sentence = "The caller holds a lease of this scope already; renew or release that one."
	}
	return fault.New(fault.AlreadyExists, "LEASE_HELD", "%s", sentence).
		With("lease_id", l.ID).With("agent_id", l.AgentID).With("scope", l.Scope).With("fence", strconv.FormatInt(l.Fence, 10)).
		With("expires_at", l.shownEnd(now).UTC().Format(wireTime)).
		About(message(intentID, l, now))
}

// wireTime is how times are written on the wire, always with six digits.
const wireTime = "2006-01-02T15:04:05.000000Z"

// awaited refuses a scope that is free, but for which others wait.
func awaited() error {
	return fault.New(fault.AlreadyExists, "LEASE_HELD",
		"Other agents wait for the lease of this scope; wait in turn, with wait_seconds.")
}

// circular refuses to wait if that would close a circle, which it names.
func circular(circle []dependence) error {
	parts := make([]string, len(circle))
	for i, d := range circle {
		parts[i] = d.waits + " waits for " + d.scope + ", which " + d.verb() + " " + d.on
	}
	return fault.New(fault.Conflict, "LEASE_CIRCLE",
		"Waiting would close a circle, so that no agent of it would ever go on: %s. Release a lease first.", strings.Join(parts, "; "))
}
