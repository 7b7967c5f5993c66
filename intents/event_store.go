package intents

import (
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/internal/pages"
)

// eventSize is an SQL expression for the bytes that an event takes on a page.
const eventSize = "400 + octet_length(e.payload) + COALESCE(octet_length(e.proof), 0)"

const eventColumns = "e.intent_no, i.id, e.sequence, e.position, e.id, e.event_type, e.actor, e.payload, e.proof, " +
	"e.trace_id, e.parent_event_id, e.created_at, e.previous_hash, e.hash"

const eventTables = " FROM events AS e JOIN intents AS i ON i.intent_no = e.intent_no"

// eventStatements returns the statement that stores the events, or none if there are no events.
func eventStatements(tx *database.Tx, events []*Event) []database.Statement {
	n := len(events)
	nos, sequences, positions, createdAts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ids, types, actors, hashes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	payloads, proofs := make([][]byte, n), make([][]byte, n)
	traces, parents, previous := make([]*string, n), make([]*string, n), make([]*string, n)
	for i, event := range events {
		nos[i], sequences[i], positions[i] = event.IntentNo, event.Sequence, event.Position
		createdAts[i] = database.Micros(event.CreatedAt)
		ids[i], types[i], actors[i], hashes[i] = event.ID, event.Type, event.Actor, event.Hash
		payloads[i], proofs[i] = event.Payload, event.Proof
		traces[i], parents[i] = database.NullText(event.TraceID), database.NullText(event.ParentEventID)
		previous[i] = database.NullText(event.PreviousHash)
	}
	return tx.Insert("events",
		database.Column{Name: "intent_no", Values: nos},
		database.Column{Name: "sequence", Values: sequences},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "id", Values: ids},
		database.Column{Name: "event_type", Values: types},
		database.Column{Name: "actor", Values: actors},
		database.Column{Name: "payload", Values: payloads},
		database.Column{Name: "proof", Values: proofs},
		database.Column{Name: "trace_id", Values: traces},
		database.Column{Name: "parent_event_id", Values: parents},
		database.Column{Name: "created_at", Values: createdAts},
		database.Column{Name: "previous_hash", Values: previous},
		database.Column{Name: "hash", Values: hashes},
	)
}

func scanEvent(row database.Row) (*Event, error) {
	var (
		event                   Event
		payload, proof          []byte
		trace, parent, previous *string
		createdAt               int64
	)
	err := row.Scan(&event.IntentNo, &event.IntentID, &event.Sequence, &event.Position, &event.ID, &event.Type,
		&event.Actor, &payload, &proof, &trace, &parent, &createdAt, &previous, &event.Hash)
	if err != nil {
		return nil, err
	}
	event.Payload, event.Proof = jsonvalue.Object(payload), jsonvalue.Object(proof)
	event.TraceID, event.ParentEventID, event.PreviousHash = text(trace), text(parent), text(previous)
	event.CreatedAt = database.Time(createdAt)
	return &event, nil
}

// readPage reads those events of a selection that go on a page.
func readPage(tx *database.Tx, page *pages.Page, selection string, offset int, args []any) ([]*Event, error) {
	rows, err := page.Fit(tx, eventSize, eventTables+selection, args...)
	if err != nil || rows == 0 {
		return nil, err
	}
	return readEvents(tx, selection+" LIMIT ? OFFSET ?", append(args, rows, offset)...)
}

// findEvent reads one event of an intent; it returns nil if the intent has no such event.
func findEvent(tx *database.Tx, intentNo int64, eventID string) (*Event, error) {
	events, err := readEvents(tx, " WHERE e.intent_no = ? AND e.id = ?", intentNo, eventID)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return events[0], nil
}

// findIntentOfEvent returns the intent whose log has the event, or zero if none has it.
func findIntentOfEvent(tx *database.Tx, eventID string) (intentNo int64, err error) {
	err = tx.Pipeline(database.ReadValue(&intentNo, "SELECT intent_no FROM events WHERE id = ?", eventID))
	return intentNo, err
}

// tracePlace is the place of an event in the order of its trace.
type tracePlace struct{ createdAt, intentNo, sequence int64 }

// listTraceEvents reads a page of a trace's events from the intents that the agent may read, oldest first.
func listTraceEvents(
	tx *database.Tx, page *pages.Page, traceID string, reader reader, after tracePlace,
) ([]*Event, error) {
	condition, args := reader.mayRead()
	args = append([]any{traceID, after.createdAt, after.intentNo, after.sequence}, args...)
	return readPage(tx, page, " WHERE e.trace_id = ? AND (e.created_at, e.intent_no, e.sequence) > (?, ?, ?)"+condition+
		" ORDER BY e.created_at, e.intent_no, e.sequence", 0, args)
}

func readEvents(tx *database.Tx, selection string, args ...any) (events []*Event, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT " + eventColumns + eventTables + selection,
		Args: args,
		Scan: func(row database.Row) error {
			event, err := scanEvent(row)
			events = append(events, event)
			return err
		},
	})
	return events, err
}

// text returns "" for NULL.
func text(stored *string) string {
	if stored == nil {
		return ""
	}
	return *stored
}
