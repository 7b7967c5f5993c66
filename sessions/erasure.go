package sessions

import (
	"context"

	"openintent/internal/database"
)

// Erase ends the sessions of an agent, and returns how many they were.
func Erase(ctx context.Context, db *database.DB, agent string) (count int64, err error) {
	err = db.Write(ctx, func(tx *database.Tx) error {
		var ids []string
		if err := tx.Pipeline(database.ReadValues(&ids, "SELECT session_id FROM console_sessions WHERE agent_id = ?", agent)); err != nil {
			return err
		}
		count = int64(len(ids))
		return remove(tx, ids)
	})
	return count, err
}
