package concerns

import (
	"slices"

	"openintent/internal/database"
)

// candidate is the place of something that may be a concern.
type candidate struct {
	place
	// row is what was read of it, if that is more than its place.
	row any
}

// lane is a list of candidates of one kind, in the order of their places, that can be read on after any place.
type lane struct {
	kind int64
	// read returns a statement that reads about so many rows after a place, and a function that tells what it has read.
	read func(after place, limit int) (database.Statement, func() portion)

	// through is up to where the lane was read, and ended whether that was all of it. held are candidates that were read and not taken.
	through place
	ended   bool
	held    []candidate
	limit   int
}

// portion is what one reading of a lane has found.
type portion struct {
	// candidates are in order. rows is how many rows were read for them one after the other.
	candidates []candidate
	rows       int
	// through is up to where the lane was read; it does not matter if ended is true, because that was all of it.
	through place
	ended   bool
}

const (
	// firstRead and mostRead are how many rows of a lane are read at a time, at first and at most. Other callers' reads wait that long.
	firstRead = 64
	mostRead  = 128
)

// dry reports whether the lane may have something before what others hold.
func (l *lane) dry() bool { return !l.ended && len(l.held) == 0 }

// merge gives the candidates of several lanes in the order of their places.
type merge struct {
	lanes []*lane
	bounds
	// rows is how many rows were read, and taken how many candidates were given. last is the place of the last of these.
	rows, taken int
	last        place
}

// bounds bound a merge. Each lane is read once at least, and something is given if there is anything, so that a page always leads on.
type bounds struct{ rowsAtMost, takenAtMost int }

func newMerge(lanes []*lane, after place, b bounds) *merge {
	for _, l := range lanes {
		l.through, l.limit = after.among(l.kind), firstRead
	}
	return &merge{lanes: lanes, bounds: b, last: after}
}

// take returns the next candidates, at least one unless there are no more or enough was looked at.
func (m *merge) take(tx *database.Tx, most int) ([]candidate, error) {
	for m.taken < m.takenAtMost {
		tx.GiveWay()
		if found := m.ready(most); len(found) > 0 {
			m.taken, m.last = m.taken+len(found), found[len(found)-1].place
			return found, nil
		}
		if m.ended() || m.rows >= m.rowsAtMost {
			break
		}
		if err := m.readOn(tx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// ended reports whether everything was read and given.
func (m *merge) ended() bool {
	return !slices.ContainsFunc(m.lanes, func(l *lane) bool { return !l.ended || len(l.held) > 0 })
}

// through is up to where everything was given. First it drops candidates that another lane has given: their lane was read no further.
func (m *merge) through() place {
	if len(m.ready(1)) > 0 { // enough were judged, and these were not
		return m.last
	}
	if horizon := m.horizon(); horizon != nil && horizon.compare(m.last) > 0 {
		return *horizon
	}
	return m.last
}

// ready takes the candidates that are next: no lane has anything before them that was not read.
func (m *merge) ready(most int) (found []candidate) {
	horizon, given := m.horizon(), m.last
	for len(found) < most {
		var next *lane
		for _, l := range m.lanes {
			if len(l.held) > 0 && (next == nil || l.held[0].compare(next.held[0].place) < 0) {
				next = l
			}
		}
		if next == nil || horizon != nil && next.held[0].compare(*horizon) > 0 {
			break
		}
		if next.held[0].compare(given) > 0 { // two lanes may have the same
			found = append(found, next.held[0])
			given = next.held[0].place
		}
		if next.held = next.held[1:]; next.dry() && (horizon == nil || next.through.compare(*horizon) < 0) {
			horizon = &next.through
		}
	}
	return found
}

// horizon is up to where all lanes were read; nil if each was read to its end or holds something.
func (m *merge) horizon() (horizon *place) {
	for _, l := range m.lanes {
		if l.dry() && (horizon == nil || l.through.compare(*horizon) < 0) {
			horizon = &l.through
		}
	}
	return horizon
}

// readOn reads on all lanes of which nothing is held, in one round trip.
func (m *merge) readOn(tx *database.Tx) error {
	var dry []*lane
	var statements []database.Statement
	var done []func() portion
	for _, l := range m.lanes {
		if l.dry() {
			statement, found := l.read(l.through, l.limit)
			dry, statements, done = append(dry, l), append(statements, statement), append(done, found)
		}
	}
	if err := tx.Pipeline(statements...); err != nil {
		return err
	}
	for i, l := range dry {
		found := done[i]()
		m.rows += found.rows
		l.held, l.through, l.ended = found.candidates, found.through, found.ended
		l.limit = min(2*l.limit, mostRead)
	}
	return nil
}
