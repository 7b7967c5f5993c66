package channels

import (
	"time"

	"openintent/database"
	"openintent/intents"
)

// ClosedBy reports whether the channel is closed at the given time, and since when: by its stored closing, by the end of its
// intent, or because its time to live has run out. The time to live runs from the last message (or the creation), stops while
// the intent is suspended, and starts again when the intent resumes. The head, the count and the rules must come from one
// snapshot, or be read under one lock.
func (r *Rules) ClosedBy(count Count, head *intents.Head, now time.Time) (closedAt time.Time, closed bool) {
	if !r.ClosedAt.IsZero() {
		return r.ClosedAt, true
	}
	if head.Ended() {
		now = head.EndedAt
	}
	if deadline, lapsed := r.lapsedBy(count, head, now); lapsed {
		return deadline, true
	}
	return head.EndedAt, head.Ended()
}

// lapsedBy reports whether the time to live of a channel that nobody has closed ran out by the given time, and when.
func (r *Rules) lapsedBy(count Count, head *intents.Head, now time.Time) (deadline time.Time, lapsed bool) {
	if r.TTL == 0 || head.Status == intents.StatusSuspended {
		return time.Time{}, false
	}
	start := r.CreatedAt
	if count.LastMessageAt.After(start) {
		start = count.LastMessageAt
	}
	if head.ResumedAt.After(start) {
		start = head.ResumedAt
	}
	deadline = start.Add(r.TTL)
	return deadline, !now.Before(deadline)
}

// FindOpenByName returns the intent's open channel of that name, or nil. If the head is locked, FindOpenByName closes for good
// a channel that has the name but has lapsed, so that the name is free. It decides by the given counts, which may include
// messages that are not stored yet. If they lack the channel's count, it reads the count and adds it to them.
func (s *Service) FindOpenByName(
	tx *database.Tx, head *intents.Head, name string, counts map[Key]*Count,
) (*Rules, error) {
	key, found, err := openByName(tx, head.IntentNo, name)
	if err != nil || !found {
		return nil, err
	}
	rules, err := s.Rules(tx, key, head.Epoch)
	if err != nil {
		return nil, err
	}
	if counts[key] == nil {
		count, err := LoadCount(tx, key)
		if err != nil {
			return nil, err
		}
		counts[key] = &count
	}
	closedAt, closed := rules.ClosedBy(*counts[key], head, head.Now())
	switch {
	case !closed:
		return rules, nil
	case !head.Locked():
		return nil, nil
	}
	return nil, s.close(tx, head, []closing{{rules: rules, at: closedAt}})
}
