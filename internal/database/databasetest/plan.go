package databasetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// Plan returns how the engine would run a query, after it has looked at what a table holds.
func Plan(t *testing.T, db *database.DB, table, query string, args ...any) string {
	var lines []string
	explain := database.Statement{SQL: "EXPLAIN " + query, Args: args, Scan: func(row database.Row) error {
		var line string
		err := row.Scan(&line)
		lines = append(lines, line)
		return err
	}}
	if db.Engine() == database.SQLite {
		explain.SQL = "EXPLAIN QUERY PLAN " + query
		explain.Scan = func(row database.Row) error {
			var id, parent, unused int
			var line string
			err := row.Scan(&id, &parent, &unused, &line)
			lines = append(lines, line)
			return err
		}
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "ANALYZE " + table}, explain)
	}))
	return strings.Join(lines, "\n")
}
