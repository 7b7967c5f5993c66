package subscriptions

import (
	"context"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// anchor is the newest number of an agent's own log of which it is known when it was given, in microseconds. If the database loses commits and
// the log then grows as far again, the number is given to something else at another time. A number that is no longer kept shows nothing.
type anchor struct{ number, at int64 }

// given moves the anchor to the last one of deliveries that were numbered.
func (a *anchor) given(found []numbered) {
	if n := len(found); n > 0 {
		*a = anchor{found[n-1].number, database.Micros(found[n-1].at)}
	}
}

// anchoring is what a look reads of an own log: when the number at the anchor was given, 0 if it is not kept, and what the next anchor is.
type anchoring struct {
	held int64
	next anchor
}

// prepare returns the statement that reads that.
func (r *anchoring) prepare(no int64, a anchor) database.Statement {
	return database.Statement{
		SQL: "SELECT d.number, d.gathered_at FROM subscription_deliveries d WHERE d.subscription_no = ?" +
			" AND d.number IN (?, (SELECT s.last_number FROM subscriptions s WHERE s.subscription_no = ?))",
		Args: []any{no, a.number, no},
		Scan: func(row database.Row) error {
			var number, at int64
			err := row.Scan(&number, &at)
			if number == a.number {
				r.held = at
			}
			if number >= r.next.number {
				r.next = anchor{number, at}
			}
			return err
		},
	}
}

// denies reports whether the number at the anchor was given at another time.
func (r *anchoring) denies(a anchor) bool { return r.held != 0 && a.at != 0 && r.held != a.at }

// compare ends the streams that have sent numbers which the database has lost, by what a look has found, and moves the anchor. known is a number
// that the log has had. stay is false if it has lost numbers and no other streams are left.
func (l *ownLogNumbers) compare(ctx context.Context, seen *progress, known int64) (stay bool, err error) {
	was, first, last := *l.gatherer.anchor, seen.sub.lastNumber+1, seen.sub.lastNumber
	denied := seen.anchoring.denies(was)
	if denied {
		first = min(first, was.number)
	}
	if stay = true; denied || last < known {
		if first, err = l.firstLost(ctx, first, was); err != nil {
			return false, err
		}
		stay = l.lose(first, last)
	}
	*l.gatherer.anchor = seen.anchoring.next
	return stay, nil
}

// firstLost returns the lowest lost number: one that is lost, or a lower one that was given after the anchor.
func (l *ownLogNumbers) firstLost(ctx context.Context, lost int64, was anchor) (number int64, err error) {
	var lowest *int64
	err = l.service.db.ReadFor(ctx, caller.ReaderOf(ctx, l.agent), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&lowest,
			"SELECT MIN(d.number) FROM subscription_deliveries d WHERE d.subscription_no = ? AND d.number <= ? AND d.gathered_at > ?",
			l.no, was.number, was.at))
	})
	if lowest != nil {
		lost = min(lost, *lowest)
	}
	return lost, err
}
