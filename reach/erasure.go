package reach

import (
	"context"

	"openintent/internal/database"
)

// Erase removes what is known of when an agent was heard, was offered messages and showed them, and returns how many rows that were. A server
// that runs notes it anew if the agent calls again, and may yet write what it heard in the ten seconds before.
func Erase(ctx context.Context, db *database.DB, agent string) (rows int64, err error) {
	err = db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "DELETE FROM agent_reach WHERE agent_id = ?", Args: []any{agent}, Affected: &rows})
	})
	return rows, err
}
