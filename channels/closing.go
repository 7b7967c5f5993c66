package channels

import (
	"slices"
	"time"

	"openintent/intents"
	"openintent/internal/database"
)

// closing is a channel with the time at which it closed.
type closing struct {
	rules *Rules
	at    time.Time
}

// close stores closings of one intent's channels. No other code closes channels. It runs the hooks of OnClosing once for each
// closing time, whatever the cause.
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

// closeForIntent closes an intent's channels when the intent ends. Channels that lapsed before close at their deadlines, the
// others at the intent's end.
func (s *Service) closeForIntent(tx *database.Tx, head *intents.Head, at time.Time) error {
	return s.closeOpen(tx, head, at, everyOpen, "closed_at IS NULL")
}

// closeForTask closes the channels of a task that has ended.
func (s *Service) closeForTask(tx *database.Tx, head *intents.Head, taskID string) error {
	return s.closeOpen(tx, head, head.Tick(), everyOpen, "closed_at IS NULL AND task_id = ?", taskID)
}

// closeForSuspension closes for good the channels that have lapsed by the time at which their intent is about to be suspended,
// because channels of a suspended intent do not close by the passing of time.
func (s *Service) closeForSuspension(tx *database.Tx, head *intents.Head, at time.Time) error {
	return s.closeOpen(tx, head, at, lapsedOnly, "closed_at IS NULL AND ttl_seconds IS NOT NULL")
}

const (
	everyOpen  = true
	lapsedOnly = false
)

// closeOpen closes open channels of the intent that meet the condition. A channel that has lapsed closes at its deadline. The
// others close at the given time if every is true, and stay open otherwise.
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

// makeLasting stores the closing of a channel that lapsed; a closing that is stored already stays as it is.
func (s *Service) makeLasting(tx *database.Tx, subject *subject, closedAt time.Time) error {
	if !subject.rules.ClosedAt.IsZero() {
		return nil
	}
	return s.close(tx, subject.head, []closing{{rules: subject.rules, at: closedAt}})
}
