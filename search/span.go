package search

import (
	"openintent/internal/database"
)

// span is what the index has of an intent's log, which ends at last: everything up to through, but for a hole. The hole has the entries
// after low, up to high; low and high are 0 if there is none.
type span struct{ intentNo, through, low, high, last int64 }

// spanColumns are the columns of a span in spanTables.
const (
	spanColumns = "h.intent_no, COALESCE(c.position, 0), COALESCE(g.low, 0), COALESCE(g.high, 0), h.last_position"
	spanTables  = " LEFT JOIN search_cursors c ON c.intent_no = h.intent_no LEFT JOIN search_holes g ON g.intent_no = h.intent_no"
	// lacking is the condition that the index lacks something of a log, or has more than is there.
	lacking = "(h.last_position <> COALESCE(c.position, 0) OR g.intent_no IS NOT NULL)"
)

func scanSpan(row database.Row) (s span, err error) {
	err = row.Scan(&s.intentNo, &s.through, &s.low, &s.high, &s.last)
	return s.clipped(), err
}

func scanSpans(into *[]span) func(database.Row) error {
	return func(row database.Row) error {
		s, err := scanSpan(row)
		*into = append(*into, s)
		return err
	}
}

// clipped returns the span without what its hole has beyond through: nothing there is in the index anyway.
func (s span) clipped() span {
	if s.high = min(s.high, s.through); s.high <= s.low {
		s.low, s.high = 0, 0
	}
	return s
}

// missing counts the entries that the index lacks.
func (s span) missing() int64 { return max(s.last-s.through, 0) + s.high - s.low }

// has reports whether the index has an entry.
func (s span) has(position int64) bool {
	return position <= s.through && (position <= s.low || position > s.high)
}

// stretch is a part of a log that is read into the index: the entries after from, up to to. It is read from below or, if it is down, from
// above. Of a log that has lost its end, from lies above to.
type stretch struct {
	span
	from, to int64
	down     bool
}

// much is how many entries may be missing at the end of a log before the newest come first.
const much = 4_096

// next returns what the index takes in next, after what it has: the end of the log, and then the hole from above. If more than most entries
// are missing at the end, they become part of the hole; so the newest come first.
func (s span) next(most int64) stretch {
	switch {
	case s.last-s.through > most:
		if s.high == 0 {
			s.low = s.through
		}
		s.through, s.high = s.last, s.last
	case s.last != s.through:
		return stretch{span: s, from: s.through, to: s.last}
	}
	return stretch{span: s, from: s.low, to: s.high, down: true}
}

// after returns what the index has once the stretch was read from its beginning up to a position, or down to it.
func (s stretch) after(reached int64) span {
	if s.down {
		s.high = reached
	} else {
		s.through = reached
	}
	return s.clipped()
}

// covers reports whether a reading that reached a position has read an entry of the stretch.
func (s stretch) covers(position, reached int64) bool {
	if s.down {
		return position > reached
	}
	return position <= reached
}
