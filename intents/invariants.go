package intents

import (
	"fmt"

	"openintent/internal/database"
)

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("intents", "intent_heads", "intent_no"),
		database.Refers("intent_heads", "intents", "intent_no"),
		database.Refers("events", "intents", "intent_no"),
		database.Refers("event_checkpoints", "intents", "intent_no"),
		database.Refers("assignments", "intents", "intent_no"),
		database.Refers("access_entries", "intents", "intent_no"),
		database.Refers("coordinators", "intents", "intent_no"),
		{
			Rule: "each event has the hash of its content and of the event before it, without a gap",
			Of:   "events",
			Find: findChainBreaks,
		},
		{
			Rule: "each head names the last event of its log",
			Of:   "intent_heads",
			Broken: `FROM intent_heads h JOIN intents i ON i.intent_no = h.intent_no
				LEFT JOIN (SELECT intent_no, MAX(sequence) AS sequence FROM events GROUP BY intent_no) l ON l.intent_no = h.intent_no
				LEFT JOIN events e ON e.intent_no = l.intent_no AND e.sequence = l.sequence
				WHERE h.last_sequence <> COALESCE(l.sequence, 0) OR COALESCE(h.last_hash, '') <> COALESCE(e.hash, '')`,
			At: []string{"i.id", "h.last_sequence"},
		},
		{
			Rule: "each head names the position of the last event that was removed",
			Of:   "intent_heads",
			Broken: `FROM intent_heads h JOIN intents i ON i.intent_no = h.intent_no
				LEFT JOIN event_checkpoints c ON c.intent_no = h.intent_no WHERE h.events_removed <> COALESCE(c.position, 0)`,
			At: []string{"i.id", "h.events_removed"},
		},
		{
			Rule: "events' positions and times rise with their sequences, up to the head's",
			Of:   "events",
			Broken: `FROM (SELECT e.intent_no, e.sequence, e.position, e.created_at, LAG(e.position) OVER w AS lower, LAG(e.created_at) OVER w AS earlier
				FROM events e WINDOW w AS (PARTITION BY e.intent_no ORDER BY e.sequence)) e
				JOIN intent_heads h ON h.intent_no = e.intent_no JOIN intents i ON i.intent_no = e.intent_no
				WHERE e.position <= e.lower OR e.created_at <= e.earlier OR e.position > h.last_position OR e.created_at > h.last_at`,
			At: []string{"i.id", "e.sequence", "e.position"},
		},
		{
			Rule: "an intent has an end if it has a terminal status",
			Of:   "intent_heads",
			Broken: "FROM intent_heads h JOIN intents i ON i.intent_no = h.intent_no WHERE (h.ended_at IS NOT NULL) <>" +
				" (h.status IN ('" + string(StatusCompleted) + "', '" + string(StatusAbandoned) + "'))",
			At: []string{"i.id", "h.status"},
		},
	}
}

// atCheckpoint is a row of an event that ends with the checkpoint of its log.
type atCheckpoint struct {
	row     database.Row
	removed *checkpoint
}

// Scan copies the event's columns, and keeps the checkpoint.
func (r atCheckpoint) Scan(dest ...any) error {
	return r.row.Scan(append(dest, &r.removed.sequence, &r.removed.hash)...)
}

// findChainBreaks recomputes the hash chains of all logs, each from its checkpoint on. Whether a chain ends where its head says is a rule of its own.
func findChainBreaks(tx *database.Tx, broken func(where string)) error {
	var check *chainCheck
	var intentNo int64
	return tx.Pipeline(database.Statement{
		SQL: "SELECT " + eventColumns + ", COALESCE(c.sequence, 0), COALESCE(c.hash, '')" + eventTables +
			" LEFT JOIN event_checkpoints AS c ON c.intent_no = e.intent_no ORDER BY e.intent_no, e.sequence",
		Scan: func(row database.Row) error {
			var removed checkpoint
			event, err := scanEvent(atCheckpoint{row, &removed})
			if err != nil {
				return err
			}
			if check == nil || event.IntentNo != intentNo {
				check, intentNo = newChainCheck(), event.IntentNo
				check.wanted = 0
				check.from(removed)
			}
			check.next(event)
			for _, found := range check.breaks {
				broken(fmt.Sprintf("id %s, sequence %d: %s", event.IntentID, found.sequence, found.reason))
			}
			check.breaks = check.breaks[:0]
			return nil
		},
	})
}
