package reading

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/channels/channelstest"
	"openintent/internal/database"
)

// Annotations and their messages are found by their places, however many there are.
func TestAnnotationsAreReadByIndex(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		for name, q := range map[string]AnnotationQuery{
			"an intent's":             {IntentNo: 1, Through: 100, Everyone: true, Limit: 64},
			"an agent's":              {IntentNo: 1, Through: 100, Agent: "bob", Limit: 64},
			"a channel's":             {IntentNo: 1, ChannelNo: 2, Through: 100, Agent: "bob", Limit: 64},
			"some types":              {IntentNo: 1, Through: 100, Agent: "bob", Types: []string{"message_reaction"}, Limit: 64},
			"those in certain places": {IntentNo: 1, At: []int64{1, 2}, Agent: "bob", Limit: 64},
		} {
			plan := strings.Join(planOf(t, p.DB, func(tx *database.Tx) database.Statement {
				_, statement := q.Prepare(tx)
				return statement
			}), "\n")
			for _, scan := range []string{"SCAN m", "SCAN a", "Seq Scan"} {
				require.NotContains(t, plan, scan, name)
			}
			require.NotContains(t, plan, "Hash", name)
		}
	})
}

// planOf returns the lines of a statement's plan. PostgreSQL would scan a small table, unless it is told not to.
func planOf(t *testing.T, db *database.DB, prepare func(*database.Tx) database.Statement) (plan []string) {
	explain := map[database.Engine]string{database.SQLite: "EXPLAIN QUERY PLAN ", database.PostgreSQL: "EXPLAIN "}
	require.NoError(t, db.Write(context.Background(), func(tx *database.Tx) error {
		if tx.Engine() == database.PostgreSQL {
			if err := tx.Pipeline(database.Statement{SQL: "SET LOCAL enable_seqscan = off"}); err != nil {
				return err
			}
		}
		statement := prepare(tx)
		statement.SQL = explain[tx.Engine()] + statement.SQL
		statement.Scan = func(row database.Row) error {
			var line string
			var ignored int
			into := []any{&line}
			if tx.Engine() == database.SQLite {
				into = []any{&ignored, &ignored, &ignored, &line}
			}
			err := row.Scan(into...)
			plan = append(plan, line)
			return err
		}
		return tx.Pipeline(statement)
	}))
	return plan
}
