package delivering

import "openintent/internal/database"

// Anchor is the newest number of an agent's own log of which it is known when it was given, in microseconds. If the database loses commits and
// the log then grows as far again, the number is given to something else at another time. A number that is no longer kept shows nothing.
type Anchor struct{ Number, At int64 }

// Given moves the anchor to the last one of deliveries that were numbered.
func (a *Anchor) Given(found []Numbered) {
	if n := len(found); n > 0 {
		*a = Anchor{found[n-1].Number, database.Micros(found[n-1].at)}
	}
}

// anchoring is what a look reads of an own log: when the number at the anchor was given, 0 if it is not kept, and what the next anchor is.
type anchoring struct {
	held int64
	Next Anchor
}

// prepare returns the statement that reads that.
func (r *anchoring) prepare(no int64, a Anchor) database.Statement {
	return database.Statement{
		SQL: "SELECT d.number, d.gathered_at FROM subscription_deliveries d WHERE d.subscription_no = ?" +
			" AND d.number IN (?, (SELECT s.last_number FROM subscriptions s WHERE s.subscription_no = ?))",
		Args: []any{no, a.Number, no},
		Scan: func(row database.Row) error {
			var number, at int64
			err := row.Scan(&number, &at)
			if number == a.Number {
				r.held = at
			}
			if number >= r.Next.Number {
				r.Next = Anchor{number, at}
			}
			return err
		},
	}
}

// Denies reports whether the number at the anchor was given at another time.
func (r *anchoring) Denies(a Anchor) bool { return r.held != 0 && a.At != 0 && r.held != a.At }
