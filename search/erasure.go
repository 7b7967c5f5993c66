package search

import (
	"context"
	"errors"

	"openintent/internal/database"
	"openintent/messaging/message"
)

// erasedTogether is how many messages of the index one transaction of an erasure looks at.
const erasedTogether = 1_000

// InUse reports whether the database has an index: servers fill it, or have filled it.
func InUse(tx *database.Tx) (bool, error) {
	var used int64
	err := tx.Pipeline(database.ReadValue(&used,
		"SELECT complete_through + (SELECT COUNT(*) FROM (SELECT 1 FROM search_cursors LIMIT 1) AS c) FROM search_state WHERE one = 1"))
	return used > 0, err
}

// Forget takes out of the index what an agent has said in some intents and what was deleted, and whatever was removed. It does that itself,
// because nobody may be searching there. On SQLite the words then leave the file, too.
func (s *Service) Forget(ctx context.Context, agentID string, intentNos []int64) error {
	if err := s.db.Write(ctx, another); err != nil { // so that nobody stores what they read before the deletion
		return err
	}
	for _, intentNo := range intentNos {
		for after := int64(0); after >= 0; {
			var through int64
			err := s.db.Write(ctx, func(tx *database.Tx) (err error) {
				through, err = forgetDeleted(tx, agentID, intentNo, after)
				return err
			})
			if err != nil {
				return err
			}
			after = through
		}
	}
	if err := s.forgetRemoved(ctx); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(tx.PurgeWords()...) })
}

// another makes another version of the index, whichever it has.
func another(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{SQL: "UPDATE search_state SET version = version + 1 WHERE one = 1"})
}

// forgetDeleted takes out of the index the deleted messages among an agent's next ones in an intent, and returns up to which position it
// has looked; -1 if there are no more.
func forgetDeleted(tx *database.Tx, agentID string, intentNo, after int64) (through int64, err error) {
	var intentNos, positions []int64
	looked := 0
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT m.position, m.conversation FROM search_documents d" +
			" JOIN messages m ON m.intent_no = d.intent_no AND m.position = d.position WHERE d.intent_no = ? AND d.position > ? AND m.sender = ? ORDER BY d.position LIMIT ?",
		Args: []any{intentNo, after, agentID, erasedTogether},
		Scan: func(row database.Row) error {
			var fields []byte
			if err := row.Scan(&through, &fields); err != nil {
				return err
			}
			looked++
			c, err := message.ConversationFrom(0, fields)
			if c != nil && !c.DeletedAt.IsZero() {
				intentNos, positions = append(intentNos, intentNo), append(positions, through)
			}
			return err
		},
	})
	if err != nil || looked == 0 {
		return -1, err
	}
	return through, forget(tx, intentNos, positions)
}

// forgetRemoved takes out of the index what was removed, however often a server changes it meanwhile.
func (s *Service) forgetRemoved(ctx context.Context) error {
	for x := newIndexer(s); ; {
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) error { return tx.Pipeline(x.readVersion(nil)) })
		if err == nil {
			err = x.clearAll(ctx)
		}
		if !errors.Is(err, errElsewhere) {
			return err
		}
	}
}
