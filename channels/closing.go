package channels

import (
	"slices"
	"time"

	"openintent/database"
	"openintent/intents"
)

// closing is a channel and the time at which it closed.
type closing struct {
	rules *Rules
	at    time.Time
}

// close makes closings of one intent lasting. It is the only code that closes channels: the hooks of OnClosing run
// here, once for each closing time, whatever the cause.
func (s *Service) close(tx *database.Tx, head *intents.Head, closings []closing) error {
	if len(closings) == 0 {
		return nil
	}
	keys, times := make([]Key, len(closings)), make([]int64, len(closings))
	for i, c := range closings {
		keys[i], times[i] = c.rules.Key, database.Micros(c.at)
	}
	intentNos, channelNos := columns(keys)
	err := tx.Pipeline(tx.Update("channels", []database.Column{intentNos, channelNos},
		[]database.Column{{Name: "closed_at", Values: times}})...)
	if err != nil {
		return err
	}
	s.changed(tx, head, keys...)
	for len(closings) > 0 {
		at := closings[0].at
		var closed []*Rules
		closings = slices.DeleteFunc(closings, func(c closing) bool {
			if !c.at.Equal(at) {
				return false
			}
			rules := *c.rules
			rules.ClosedAt = at
			closed = append(closed, &rules)
			return true
		})
		for _, hook := range s.onClosing {
			if err := hook(tx, head, closed, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeForIntent closes an intent's channels at its end: those that lapsed before at their deadlines, the others with
// it.
func (s *Service) closeForIntent(tx *database.Tx, head *intents.Head, at time.Time) error {
	return s.closeOpen(tx, head, at, everyOpen, "closed_at IS NULL")
}

// closeForTask closes the channels of a task that is over.
func (s *Service) closeForTask(tx *database.Tx, head *intents.Head, taskID string) error {
	return s.closeOpen(tx, head, head.Tick(), everyOpen, "closed_at IS NULL AND task_id = ?", taskID)
}

// closeForSuspension closes for good what has lapsed by the time at which an intent is about to be suspended, because
// time says nothing about a suspended intent's channels.
func (s *Service) closeForSuspension(tx *database.Tx, head *intents.Head, at time.Time) error {
	return s.closeOpen(tx, head, at, lapsedOnly, "closed_at IS NULL AND ttl_seconds IS NOT NULL")
}

const (
	everyOpen  = true
	lapsedOnly = false
)

// closeOpen closes those of the intent's open channels that meet the condition: what has lapsed at its deadline, and the
// others at the given time, if every one is meant.
func (s *Service) closeOpen(
	tx *database.Tx, head *intents.Head, at time.Time, every bool, condition string, args ...any,
) error {
	open, err := loadWithoutMembers(tx, head.IntentNo, head.IntentID, condition, args...)
	if err != nil || len(open) == 0 {
		return err
	}
	counts, err := LoadCounts(tx, keysOf(open))
	if err != nil {
		return err
	}
	var closings []closing
	for _, r := range open {
		if deadline, lapsed := r.lapsedBy(*counts[r.Key], head, head.Now()); lapsed {
			closings = append(closings, closing{rules: r, at: deadline})
		} else if every {
			closings = append(closings, closing{rules: r, at: at})
		}
	}
	return s.close(tx, head, closings)
}

// makeLasting stores the closing of a channel that lapsed; one that is stored already stays as it is.
func (s *Service) makeLasting(tx *database.Tx, subject *subject, closedAt time.Time) error {
	if !subject.rules.ClosedAt.IsZero() {
		return nil
	}
	return s.close(tx, subject.head, []closing{{rules: subject.rules, at: closedAt}})
}
