package messaging

import (
	"context"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
)

// look notes whether the inbox may differ. Nothing enters an inbox by the passing of time. So it may when the agent's record or rules have
// changed, when an intent begins to reach the agent, when commits were lost, and when a message was stored that is addressed to the agent
// or to everyone. What others say to each other costs one question for all that wait.
func (w *inboxWatch) look(ctx context.Context) error {
	found, err := w.watch.Look(ctx)
	if err != nil {
		return err
	}
	if w.differs = w.differs || found.All || len(found.Intents) > maxProbes; w.differs || len(found.Intents) == 0 {
		return nil
	}
	addressed := false
	err = w.service.db.ReadFor(ctx, caller.ReaderOf(ctx, w.agent), func(tx *database.Tx) error {
		addressed = false
		var probes []database.Statement
		for no, move := range found.Intents {
			if move.Ruled {
				addressed = true
				return nil
			}
			probes = append(probes, addressedAfter(tx, no, move.Since, namesOf(found.Presence), &addressed))
		}
		return tx.Pipeline(probes...)
	})
	w.differs = err != nil || addressed
	return err
}

// namesOf returns the addresses under which messages are sent to an agent, its own first.
func namesOf(presence agents.Presence) []string {
	names := []string{presence.AgentID}
	if role := presence.Role(); role != "" {
		names = append(names, caller.RolePrefix+role)
	}
	return names
}

// addressedAfter returns the statement that tells whether a message after a position is for one of the names or for
// everyone.
func addressedAfter(tx *database.Tx, intentNo, after int64, names []string, found *bool) database.Statement {
	in, argument := tx.In("target", names)
	return database.Statement{
		SQL: "SELECT 1 FROM messages WHERE intent_no = ? AND position > ? AND sender <> ?" +
			" AND (target IS NULL OR target = '*' OR " + in + ") LIMIT 1",
		Args: []any{intentNo, after, names[0], argument},
		Scan: func(row database.Row) error {
			var one int64
			*found = true
			return row.Scan(&one)
		},
	}
}
