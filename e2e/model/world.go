package model

import (
	"slices"
	"time"
)

// Outcome is the result of a call: the stable reason of its refusal, or OK.
type Outcome string

// OK means that the call was accepted.
const OK Outcome = ""

// Operator is the caller that names no agent and uses a key that allows this; it may do everything that anyone may.
const Operator = "operator"

// System sends the server's own messages.
const System = "system"

// KeyLifetime is how long an idempotency key is remembered.
const KeyLifetime = 24 * time.Hour

// World is everything that the server should know.
type World struct {
	Now      time.Time
	Agents   map[string]*Agent // all agents that ever registered
	Intents  []*Intent
	Channels []*Channel // in the order of their creation
	Messages map[string]*Message
	first    map[place]*Message // by idempotency key
}

// New returns a world in which nothing has happened.
func New(now time.Time) *World {
	return &World{
		Now: now, Agents: make(map[string]*Agent), Messages: make(map[string]*Message), first: make(map[place]*Message),
	}
}

// Set moves the clock, which never goes back, and applies immediately what the new time changes.
func (w *World) Set(now time.Time) {
	w.Now = now
	w.lapse()
}

// Deadlines returns the future moments at which time alone changes something, earliest first.
func (w *World) Deadlines() []time.Time {
	var all []time.Time
	for _, c := range w.Channels {
		if at, runs := c.deadline(); runs {
			all = append(all, at)
		}
	}
	for _, m := range w.Messages {
		all = append(all, m.ExpiresAt)
	}
	for _, m := range w.first {
		all = append(all, m.CreatedAt.Add(KeyLifetime))
	}
	for _, i := range w.Intents {
		all = append(all, i.CoordinatorUntil)
		for _, entry := range i.Entries {
			all = append(all, entry.ExpiresAt)
		}
	}
	all = slices.DeleteFunc(all, func(at time.Time) bool { return !at.After(w.Now) })
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// past reports whether a deadline, if there is one, is over. A deadline is over at its own moment.
func (w *World) past(deadline time.Time) bool { return !deadline.IsZero() && !w.Now.Before(deadline) }

// actsAs decides in whose name a call acts that names an agent or none: only the operator may name another agent.
func actsAs(caller, named string) (acting string, _ Outcome) {
	switch {
	case named == "" || named == caller:
		return caller, OK
	case caller == Operator:
		return named, OK
	}
	return "", "SENDER_MISMATCH"
}

// firstOf returns the first refusal, or OK.
func firstOf(outcomes ...Outcome) Outcome {
	for _, outcome := range outcomes {
		if outcome != OK {
			return outcome
		}
	}
	return OK
}

// GoString keeps the output of a failed history readable.
func (c *Channel) GoString() string { return "channel " + c.Name + " " + c.ID }

// GoString keeps the output of a failed history readable.
func (m *Message) GoString() string { return m.Type + " " + m.ID + " from " + m.Sender + " to " + m.To }
