package contacts

import (
	"context"

	"openintent/internal/database"
)

// Erase removes the contacts of a name, with what was to be sent to them and what was noted of them, also of its own questions to others. It returns how many rows of each table
// that were.
func Erase(ctx context.Context, db *database.DB, agent string) (rows map[string]int64, err error) {
	tables := []string{"contact_posts", "contact_calls", "contact_looks", "contact_codes", "contacts"}
	err = db.Write(ctx, func(tx *database.Tx) error {
		counts, statements := make([]int64, len(tables)), make([]database.Statement, len(tables))
		for i, table := range tables {
			statements[i] = database.Statement{SQL: "DELETE FROM " + table + " WHERE agent_id = ?", Args: []any{agent}, Affected: &counts[i]}
			if table == "contact_calls" {
				statements[i].SQL, statements[i].Args = statements[i].SQL+" OR sender = ?", []any{agent, agent}
			}
		}
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		rows = make(map[string]int64)
		for i, table := range tables {
			rows[table] = counts[i]
		}
		return nil
	})
	return rows, err
}
