package search

import (
	"slices"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// mostLookedAt is how many intents that are not indexed one search looks at, to count those in which its caller may search.
const mostLookedAt = 1_000

// extent is how much the index has of what a search goes through.
type extent struct {
	// Between from and through the index has all messages. from is zero for the beginning, and through is zero if there is no such time.
	from, through time.Time
	// left is how many messages the named intent still lacks at most, and notIndexed in how many intents something is missing if the search
	// names none.
	left       int64
	notIndexed int
	// keeps is what the search has to note.
	keeps keeping
}

// extent returns how much the index has, as of a time at which the transaction had not begun. Whoever may not search in an intent hears
// what it would hear if the intent were not there.
func (s *Service) extent(tx *database.Tx, w wanted, asOf time.Time) (extent, error) {
	intentNo, some, err := s.named(tx, w)
	if err != nil {
		return extent{}, err
	}
	if !some {
		return s.extentEverywhere(tx, w.by, asOf)
	}
	may, err := s.searchable(tx, w.by, slices.DeleteFunc([]int64{intentNo}, func(no int64) bool { return no == 0 }))
	if err != nil || len(may) == 0 {
		return extent{through: asOf}, err
	}
	e, err := extentIn(tx, intentNo, asOf)
	if err == nil {
		e.keeps, err = toNote(tx, w.by.KeyID, may, asOf)
	}
	return e, err
}

// extentIn returns what the index has of an intent.
func extentIn(tx *database.Tx, intentNo int64, asOf time.Time) (extent, error) {
	var has span
	if err := tx.Pipeline(database.Statement{
		SQL: "SELECT " + spanColumns + " FROM intent_heads h" + spanTables + " WHERE h.intent_no = ?", Args: []any{intentNo},
		Scan: func(row database.Row) (err error) {
			has, err = scanSpan(row)
			return err
		},
	}); err != nil {
		return extent{}, err
	}
	e := extent{through: asOf, left: has.missing()}
	if e.left == 0 {
		return e, nil
	}
	var first, further, changed int64 // times of the first message after the hole, of the first after the end, and of the first change there
	if err := tx.Pipeline(
		messageAfter(&first, intentNo, has.high), messageAfter(&further, intentNo, has.through), changeAfter(&changed, intentNo, has),
	); err != nil {
		return extent{}, err
	}
	switch {
	case has.through == 0 && further > 0:
		return extent{left: e.left}, nil
	case further == 0 && changed == 0 && has.high == 0: // what is missing is nothing that anybody says
		return extent{through: asOf}, nil
	}
	for _, missing := range []int64{further, changed} {
		if missing > 0 {
			e.through = message.Earliest(e.through, database.Time(missing))
		}
	}
	if has.high > 0 {
		if e.from = e.through; first > 0 {
			e.from = message.Earliest(e.through, database.Time(first))
		}
	}
	return e, nil
}

// messageAfter returns the statement that reads the time of an intent's first message after a position.
func messageAfter(at *int64, intentNo, position int64) database.Statement {
	return database.ReadValue(at,
		"SELECT created_at FROM messages WHERE intent_no = ? AND position > ? ORDER BY position LIMIT 1", intentNo, position)
}

// changeAfter returns the statement that reads the time of the first edit or deletion that the index lacks at the end of a log.
func changeAfter(at *int64, intentNo int64, has span) database.Statement {
	return database.ReadValue(at, "SELECT created_at"+changesSQL+" LIMIT 1",
		intentNo, has.through, max(has.last, has.through), message.AnnotationEdit, message.AnnotationDeletion)
}

// extentEverywhere returns what the index has of all intents.
func (s *Service) extentEverywhere(tx *database.Tx, by caller.Caller, asOf time.Time) (e extent, err error) {
	noted, err := notedThrough(tx, asOf)
	if err != nil {
		return e, err
	}
	lacked, recent, err := lacked(tx, noted, asOf)
	if err != nil {
		return e, err
	}
	if e.through = noted; !noted.IsZero() && len(lacked)+len(recent) == 0 {
		e.through = asOf
	}
	searched, err := s.searchable(tx, by, lacked)
	if err != nil {
		return e, err
	}
	e.notIndexed = len(searched)
	last, err := lastIn(tx, by.Agent, lastJoined)
	if err != nil {
		return e, err
	}
	var keeps []int64
	for some := range slices.Chunk(last, 2*keptEverywhere) {
		if some, err = s.searchable(tx, by, some); err != nil {
			return e, err
		}
		if keeps = append(keeps, some...); len(keeps) >= keptEverywhere {
			keeps = keeps[:keptEverywhere]
			break
		}
	}
	e.keeps, err = toNote(tx, by.KeyID, keeps, asOf)
	return e, err
}

// lacked returns at most mostLookedAt intents that are not wholly in the index; those that moved last come first. It returns apart, as recent,
// those that are kept and lack only what came since the index last looked. Before the time noted nothing is missing, except in holes.
func lacked(tx *database.Tx, noted, asOf time.Time) (lacked, recent []int64, err error) {
	since := time.Unix(0, 0)
	if !noted.IsZero() {
		since = noted.Add(-commitLag)
	}
	moved, argument := intents.MovedSince(since)
	scan := func(row database.Row) error {
		var no int64
		var follows bool
		if err := row.Scan(&no, &follows); err != nil {
			return err
		}
		if follows {
			recent = append(recent, no)
		} else {
			lacked = append(lacked, no)
		}
		return nil
	}
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT h.intent_no, c.position IS NOT NULL AND g.intent_no IS NULL AND h.last_position - c.position <= ?" +
			" AND EXISTS (SELECT 1 FROM search_keepers k WHERE k.intent_no = h.intent_no AND k.searched_at >= ?)" +
			" FROM intent_heads h" + spanTables + " WHERE " + lacking + " AND " + moved + " ORDER BY h.moved_in DESC LIMIT ?",
		Args: []any{much, keptSince(asOf), argument, mostLookedAt},
		Scan: scan,
	}, database.Statement{
		SQL: "SELECT g.intent_no, FALSE FROM search_holes g LIMIT ?", Args: []any{mostLookedAt}, Scan: scan,
	})
	lacked = database.Distinct(lacked)
	return lacked[:min(len(lacked), mostLookedAt)], recent, err
}
