package intents

import (
	"openintent/database"
	"openintent/pages"
)

// Section is a part of one intent's log of events, for readers that interleave events with whatever else has a position
// there. Events come in the order of their positions.
type Section struct {
	IntentNo int64
	// After and Through bound the positions: After < position <= Through.
	After, Through int64
	// At, when it is not nil, leaves only these positions, whatever the bounds.
	At []int64
	// Types leaves only events of these types; none: all.
	Types []string
	Limit int
}

// SectionEvents is what was found of a section, up to 3 MiB of content.
type SectionEvents struct {
	Events []*Event
	// Cut is true when there was more than fits: what follows the last event is unknown then.
	Cut  bool
	size int
}

// Prepare gives the statement that reads the section, and where it puts the events. It asks nobody's permission.
func (q Section) Prepare(tx *database.Tx) (*SectionEvents, database.Statement) {
	where, args, order := " WHERE e.intent_no = ?", []any{q.IntentNo}, "e.position"
	if q.At != nil {
		in, argument := tx.In("e.position", q.At)
		where, args = where+" AND "+in, append(args, argument)
		order += " + 0" // or PostgreSQL may go through the whole log, which is in this order
	} else {
		where, args = where+" AND e.position > ? AND e.position <= ?", append(args, q.After, q.Through)
	}
	if len(q.Types) > 0 {
		in, argument := tx.In("e.event_type", q.Types)
		where, args = where+" AND "+in, append(args, argument)
	}
	found := &SectionEvents{}
	return found, database.Statement{
		SQL:  "SELECT " + eventColumns + eventTables + where + " ORDER BY " + order + " LIMIT ?",
		Args: append(args, q.Limit),
		Scan: found.scan,
	}
}

func (f *SectionEvents) scan(row database.Row) error {
	if f.Cut {
		return nil
	}
	event, err := scanEvent(row)
	if err != nil {
		return err
	}
	f.size += event.Size()
	if f.Cut = len(f.Events) > 0 && f.size > pages.MaxBytes; !f.Cut {
		f.Events = append(f.Events, event)
	}
	return nil
}
