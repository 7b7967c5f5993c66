package database_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A plan that was made while its table was empty is made again once the table is analyzed. It then uses the whole key.
func TestPlansFollowStatistics(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.PostgreSQL), Connections: database.Connections{Write: 1, Read: 1}})
	var text string
	ask := func(tx *database.Tx) error {
		in, arguments := tx.InRows(
			database.Column{Name: "intent_no", Values: []int64{1}}, database.Column{Name: "position", Values: []int64{1}})
		text = "SELECT target FROM messages WHERE " + in
		return tx.Pipeline(database.Statement{SQL: text, Args: arguments})
	}
	require.NoError(t, db.ReadStatement(t.Context(), ask))
	lines := func(text string, arguments ...any) (found []string) {
		t.Helper()
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: text, Args: arguments, Scan: func(row database.Row) error {
				found = append(found, "")
				return row.Scan(&found[len(found)-1])
			}})
		}))
		return found
	}
	plan := func() string {
		name := lines("SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT target FROM messages%'")
		require.Len(t, name, 1, "the connection keeps its statements")
		return strings.Join(lines(`EXPLAIN EXECUTE "`+name[0]+`"(NULL, NULL)`), "\n")
	}
	t.Log("while the table is empty:\n" + plan())
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: `INSERT INTO messages (intent_no, position, channel_no, ordinal, id, sender,
			message_type, payload, metadata, created_at)
			SELECT 1, i, 1, i, 'msg_' || i, 'agent', 'notify', '{}', '{}', i FROM generate_series(1, 20000) AS i`})
	}))
	require.Eventually(t, func() bool {
		require.NoError(t, db.RenewStatistics(t.Context()))
		grown := plan()
		return strings.Contains(grown, "messages_pkey") && strings.Contains(grown, `"position" = `) &&
			!strings.Contains(grown, "Filter")
	}, time.Minute, 20*time.Millisecond)
}

// A table is analyzed once it has grown several times over, and not before.
func TestStatisticsFollowGrowth(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.RenewStatistics(t.Context()), "on both engines")
		if db.Engine() != database.PostgreSQL {
			return
		}
		statement := func(text string) {
			t.Helper()
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: text})
			}))
		}
		counted := func() (rows int64, times int64) {
			t.Helper()
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL: "SELECT c.reltuples::bigint, s.analyze_count FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid" +
						" WHERE c.relname = 'Rows of mine'",
					Scan: func(row database.Row) error { return row.Scan(&rows, &times) },
				})
			}))
			return rows, times
		}
		renewed := func(until func(rows, times int64) bool) {
			t.Helper()
			require.Eventually(t, func() bool { // the server counts inserted rows with a short delay
				require.NoError(t, db.RenewStatistics(t.Context()))
				return until(counted())
			}, time.Minute, 20*time.Millisecond)
		}

		statement(`CREATE TABLE "Rows of mine" (n bigint) WITH (autovacuum_enabled = false)`)
		statement(`INSERT INTO "Rows of mine" SELECT generate_series(1, 600)`)
		renewed(func(rows, _ int64) bool { return rows == 600 })
		statement(`INSERT INTO "Rows of mine" SELECT generate_series(1, 700)`)
		statement(`INSERT INTO "Rows of mine" SELECT generate_series(1, 700)`)
		renewed(func(rows, times int64) bool { return rows == 2000 && times == 2 })
	})
}
