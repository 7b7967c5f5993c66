package intents

import (
	"slices"

	"openintent/internal/fault"
)

// Status is an intent's state in its lifecycle.
//
//	          +----------------------------> abandoned
//	          |      (from all but the ended)
//	draft ----+--> active <--> blocked
//	   |            |   ^  \
//	   |            |   |   +--> completed
//	   +-> blocked  v   |
//	       (unmet)  suspended_awaiting_input
type Status string

// The statuses. Completed and Abandoned are terminal: nothing leads out of them.
const (
	StatusDraft     Status = "draft"
	StatusActive    Status = "active"
	StatusBlocked   Status = "blocked"
	StatusCompleted Status = "completed"
	StatusAbandoned Status = "abandoned"
	StatusSuspended Status = "suspended_awaiting_input"
)

var transitions = map[Status][]Status{
	StatusDraft:     {StatusActive, StatusBlocked, StatusAbandoned},
	StatusActive:    {StatusBlocked, StatusCompleted, StatusAbandoned, StatusSuspended},
	StatusBlocked:   {StatusActive, StatusAbandoned},
	StatusSuspended: {StatusActive, StatusAbandoned},
}

// Terminal reports whether an intent with this status has ended.
func (s Status) Terminal() bool { return s == StatusCompleted || s == StatusAbandoned }

// mayBecome returns nil for a legal step of the lifecycle. A draft becomes blocked only while it waits for other intents.
func (s Status) mayBecome(next Status, unmet bool) error {
	switch {
	case !slices.Contains(transitions[s], next):
		return invalidTransition(s, next)
	case s == StatusDraft && next == StatusBlocked && !unmet:
		return fault.New(fault.Invalid, "INVALID_TRANSITION",
			"A draft becomes blocked only while an intent it depends on is not completed; make it active instead.")
	case next == StatusCompleted && unmet:
		return errUnmetDependencies
	}
	return nil
}

func invalidTransition(from, to Status) error {
	if from.Terminal() {
		return fault.New(fault.Invalid, "INVALID_TRANSITION", "The intent is %s, which is final.", from)
	}
	return fault.New(fault.Invalid, "INVALID_TRANSITION",
		"An intent that is %s cannot become %s; choose one of %s.", from, to, joinStatuses(transitions[from]))
}

func joinStatuses(statuses []Status) string {
	text := ""
	for i, status := range statuses {
		if i > 0 {
			text += ", "
		}
		text += string(status)
	}
	return text
}
