package intents

import (
	"database/sql"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// checkpoint is what is kept of the events that were removed from the beginning of an intent's log: the last of them. The zero checkpoint
// stands for a log from which nothing was removed.
type checkpoint struct {
	sequence, position int64
	hash               string
	createdAt          time.Time
	removedAt          time.Time
	// firstBreak is the first removed event at which the chain did not verify any more when it was removed; 0 if all of it did.
	firstBreak int64
}

// prepareCheckpoint returns a statement that reads an intent's checkpoint, and where it puts it.
func prepareCheckpoint(intentNo int64) (*checkpoint, database.Statement) {
	found := &checkpoint{}
	return found, database.Statement{
		SQL:  "SELECT sequence, position, hash, created_at, removed_at, first_break FROM event_checkpoints WHERE intent_no = ?",
		Args: []any{intentNo},
		Scan: func(row database.Row) error {
			var createdAt, removedAt int64
			var firstBreak sql.NullInt64
			err := row.Scan(&found.sequence, &found.position, &found.hash, &createdAt, &removedAt, &firstBreak)
			found.createdAt, found.removedAt = database.Time(createdAt), database.Time(removedAt)
			found.firstBreak = firstBreak.Int64
			return err
		},
	}
}

// checkpointOf returns the checkpoint of a log, as the snapshot of the transaction has it.
func checkpointOf(tx *database.Tx, head *Head) (checkpoint, error) {
	if head.EventsRemoved == 0 {
		return checkpoint{}, nil
	}
	found, read := prepareCheckpoint(head.IntentNo)
	err := tx.Pipeline(read)
	return *found, err
}

// store returns the statements that make the checkpoint the intent's, and remove the events up to it.
func (c checkpoint) store(intentNo int64) []database.Statement {
	var firstBreak *int64
	if c.firstBreak != 0 {
		firstBreak = &c.firstBreak
	}
	return []database.Statement{
		{SQL: "DELETE FROM events WHERE intent_no = ? AND sequence <= ?", Args: []any{intentNo, c.sequence}},
		{
			SQL: "INSERT INTO event_checkpoints (intent_no, sequence, position, hash, created_at, removed_at, first_break)" +
				" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent_no) DO UPDATE SET sequence = excluded.sequence," +
				" position = excluded.position, hash = excluded.hash, created_at = excluded.created_at," +
				" removed_at = excluded.removed_at, first_break = excluded.first_break",
			Args: []any{
				intentNo, c.sequence, c.position, c.hash, database.Micros(c.createdAt), database.Micros(c.removedAt), firstBreak,
			},
		},
		{SQL: "UPDATE intent_heads SET events_removed = ? WHERE intent_no = ?", Args: []any{c.position, intentNo}},
	}
}

// toWire returns nil for a log from which nothing was removed.
func (c checkpoint) toWire() *openintentv1.EventCheckpoint {
	if c.sequence == 0 {
		return nil
	}
	wire := &openintentv1.EventCheckpoint{
		Sequence: c.sequence, Position: c.position, EventHash: c.hash,
		CreatedAt: timestamppb.New(c.createdAt), RemovedAt: timestamppb.New(c.removedAt),
	}
	if c.firstBreak != 0 {
		wire.FirstBreak = &c.firstBreak
	}
	return wire
}
