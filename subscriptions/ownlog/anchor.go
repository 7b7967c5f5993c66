package ownlog

import (
	"context"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/subscriptions/delivering"
)

// compare ends the streams that have sent numbers which the database has lost, by what a look has found, and moves the anchor. known is a number
// that the log has had. stay is false if it has lost numbers and no other streams are left.
func (l *ownLogNumbers) compare(ctx context.Context, seen *delivering.Progress, known int64) (stay bool, err error) {
	was, first, last := *l.gatherer.Anchor, seen.Sub.LastNumber+1, seen.Sub.LastNumber
	denied := seen.Anchoring.Denies(was)
	if denied {
		first = min(first, was.Number)
	}
	if stay = true; denied || last < known {
		if first, err = l.firstLost(ctx, first, was); err != nil {
			return false, err
		}
		stay = l.lose(first, last)
	}
	*l.gatherer.Anchor = seen.Anchoring.Next
	return stay, nil
}

// firstLost returns the lowest lost number: one that is lost, or a lower one that was given after the anchor.
func (l *ownLogNumbers) firstLost(ctx context.Context, lost int64, was delivering.Anchor) (number int64, err error) {
	var lowest *int64
	err = l.logs.db.ReadFor(ctx, caller.ReaderOf(ctx, l.agent), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&lowest,
			"SELECT MIN(d.number) FROM subscription_deliveries d WHERE d.subscription_no = ? AND d.number <= ? AND d.gathered_at > ?",
			l.no, was.Number, was.At))
	})
	if lowest != nil {
		lost = min(lost, *lowest)
	}
	return lost, err
}
