package messaging

import (
	"openintent/agents"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

// inboxSources are from where something may wait in an inbox, as one snapshot has it: the agent's record and catchment, and the heads of those
// of the intents that reach it that keep messages or may still get some.
type inboxSources struct {
	presence agents.Presence
	reached  reading.Catchment
	heads    intents.Heads
}

// inboxSources reads from where something may wait in an agent's inbox.
func (s *Service) inboxSources(tx *database.Tx, agent string) (found inboxSources, err error) {
	if found.presence, err = presenceOf(tx, agent); err != nil {
		return found, err
	}
	var statements []database.Statement
	found.reached, statements = reading.PrepareCatchment(tx, agent, found.presence.Role())
	if err := tx.Pipeline(statements...); err != nil {
		return found, err
	}
	var living []int64
	in, argument := tx.In("h.intent_no", found.reached.Intents())
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT h.intent_no FROM intent_heads h WHERE " + in +
			" AND (h.ended_at IS NULL OR EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = h.intent_no))",
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			living = append(living, intentNo)
			return err
		},
	})
	if err != nil {
		return found, err
	}
	statement, heads := intents.PrepareHeads(tx, living)
	err = tx.Pipeline(statement)
	found.heads = heads()
	return found, err
}
