package attention

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// A page with replies must not cost a look at all messages, however many there are.
func TestStatementsFindTheirRowsByIndex(t *testing.T) {
	explain := map[database.Engine]string{database.SQLite: "EXPLAIN QUERY PLAN ", database.PostgreSQL: "EXPLAIN "}
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine)})
			reply := &message.Message{IntentNo: 1, Position: 9, Type: notice, Conversation: &message.Conversation{ThreadPosition: 5}}
			request := &message.Message{IntentNo: 1, Position: 7, Type: request, Conversation: &message.Conversation{EditedAt: now}}
			var plan []string
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				if tx.Engine() == database.PostgreSQL { // PostgreSQL would scan a small table
					if err := tx.Pipeline(database.Statement{SQL: "SET LOCAL enable_seqscan = off"}); err != nil {
						return err
					}
				}
				threads := newThreads([]Delivery{{Situation: claim.Situation{Message: reply}, Viewer: message.Viewer{Agent: "bob"}}})
				common := newCommon().statements(tx, []*message.Message{reply, request})
				require.Len(t, common, 2, "one for claims, one for answers")
				require.Empty(t, newCommon().statements(tx, []*message.Message{reply}), "a reply has no claims")
				for _, statement := range append(threads.statements(tx), common...) {
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
					if err := tx.Pipeline(statement); err != nil {
						return err
					}
				}
				return nil
			}))
			lines := strings.Join(plan, "\n")
			require.Contains(t, lines, "messages_thread_sender")
			require.Contains(t, lines, "messages_correlation")
			require.Regexp(t, "claims_(pkey|1)", lines)
			require.NotContains(t, lines, "SCAN m")
			require.NotRegexp(t, "SCAN c\\b|Seq Scan on claims", lines)
			require.NotContains(t, lines, "Seq Scan on messages")
			t.Log(lines)
		})
	}
}
