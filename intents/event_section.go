package intents

import (
	"openintent/internal/database"
	"openintent/internal/pages"
)

// Section selects a part of one intent's log of events, for readers that interleave events with the other things that have
// positions there. The events come in the order of their positions.
type Section struct {
	IntentNo int64
	// After and Through bound the positions: After < position <= Through.
	After, Through int64
	// At, if it is not nil, selects only these positions, regardless of the bounds.
	At []int64
	// Types selects only events of these types; if it is empty, events of all types.
	Types []string
	Limit int
}

// SectionEvents are the events found in a section, up to 3 MiB of content.
type SectionEvents struct {
	Events []*Event
	// Cut is true if the section has more events than fit; the events after the last one were not read.
	Cut  bool
	size int
}

// Prepare returns the statement that reads the section, and where it puts the events. It does not check permissions.
func (q Section) Prepare(tx *database.Tx) (*SectionEvents, database.Statement) {
	where, args, order := " WHERE e.intent_no = ?", []any{q.IntentNo}, "e.position"
	if q.At != nil {
		in, argument := tx.In("e.position", q.At)
		where, args = where+" AND "+in, append(args, argument)
		order += " + 0" // otherwise PostgreSQL may scan the whole log, which is in this order
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
