package concerns

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// copies multiplies what is stored of a request: open ones beside it that are as old, ones that timed out, and requests that were answered.
func (h *house) copies(t *testing.T, of *sent, count int) {
	t.Helper()
	const columns = "channel_no, sender, target, message_type, payload, metadata"
	copied := func(offset int, ended string) database.Statement {
		return database.Statement{
			SQL: fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"+
				" INSERT INTO messages (intent_no, position, ordinal, id, created_at, expires_at, ended_at, "+columns+")"+
				" SELECT intent_no, %[2]d + i, %[2]d + i, 'copy-%[2]d-' || intent_no || '-' || i, created_at + i, %[3]s, "+columns+
				" FROM messages, n WHERE id = ?", count, offset, ended),
			Args: []any{of.GetId()},
		}
	}
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(
			copied(1_000_000, "NULL, NULL"), copied(2_000_000, "created_at + i + 30000000, created_at + i + 30000000"), copied(3_000_000, "NULL, NULL"),
			database.Statement{SQL: "INSERT INTO open_requests (intent_no, position, channel_no, target, created_at, expires_at)" +
				" SELECT intent_no, position, channel_no, target, created_at, expires_at FROM messages WHERE id LIKE 'copy-1000000-%'" +
				" AND intent_no = (SELECT intent_no FROM messages WHERE id = ?)", Args: []any{of.GetId()}},
			database.Statement{SQL: "ANALYZE"},
		)
	}))
}

// A first page costs the same however many there are, for whoever asks, and so does a later one.
func TestAPageCostsTheSame(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		asked := h.ask(t, "alice", "bob", 0)
		elsewhere := h.newIntent(t, "eve")
		h.ask(t, "eve", "bob", 0, on(h.newChannelIn(t, "eve", elsewhere)))
		cost := func() (rows []int) {
			for _, who := range []context.Context{as("alice"), as("bob"), asOperator()} {
				cursor := ""
				for range 3 {
					_, read := h.hooks.during(func() {
						form := &listed{Limit: pointer(int32(5))}
						if cursor != "" {
							form.Cursor = &cursor
						}
						page, err := h.ListConcerns(who, form)
						require.NoError(t, err)
						require.Len(t, page.GetConcerns(), 5)
						cursor = page.GetNextCursor()
					})
					rows = append(rows, read)
				}
			}
			return rows
		}
		h.copies(t, asked, 1_200)
		h.clock.Advance(11 * time.Minute)
		few := cost()
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "DELETE FROM messages WHERE id LIKE 'copy-%'"},
				database.Statement{SQL: "DELETE FROM open_requests WHERE position >= 1000000"})
		}))
		h.copies(t, asked, 6_000)
		many := cost()
		for i := range few {
			require.LessOrEqual(t, many[i], few[i]+few[i]/4, "page %d: %v, %v", i, few, many)
		}
	})
}

// wholeTable is met by a plan that goes through a table that grows with what is sent or made, instead of seeking in it.
var wholeTable = map[database.Engine]*regexp.Regexp{
	database.SQLite:     regexp.MustCompile(`(?m)^SCAN (messages|open_requests|obligations|subscriptions|subscription_deliveries|tasks|agents|[adhmqtx])$`),
	database.PostgreSQL: regexp.MustCompile(`Seq Scan on (messages|open_requests|obligations|subscriptions|subscription_deliveries|tasks|agents|conversation_brakes)\b.*`),
}

// Whatever is asked of the database is sought by an index.
func TestIndexesAreUsed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.busy(t)
		texts, _ := h.hooks.during(func() {
			for _, who := range []caller.Caller{{Agent: "alice"}, {Agent: "bob"}, {Agent: caller.Operator, IsOperator: true}} {
				h.all(t, asCaller(who), &listed{}, 2)
				h.all(t, asCaller(who), &listed{IntentId: &h.intent}, 2)
			}
		})
		slices.Sort(texts)
		planned := 0
		for _, text := range slices.Compact(texts) {
			if strings.HasPrefix(text, "SELECT") {
				planned++
				plan := h.plan(t, text)
				require.NotRegexp(t, wholeTable[h.engine], plan, text)
			}
		}
		require.Greater(t, planned, 20)
	})
}

// plan returns how a statement is run, whatever its arguments are.
func (h *house) plan(t *testing.T, text string) string {
	t.Helper()
	var plan []string
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		plan = nil
		line := func(row database.Row) error {
			var line string
			err := row.Scan(&line)
			plan = append(plan, line)
			return err
		}
		if h.engine == database.SQLite {
			return tx.Pipeline(database.Statement{
				SQL: "EXPLAIN QUERY PLAN " + text, Args: make([]any, strings.Count(text, "?")),
				Scan: func(row database.Row) error {
					var id, parent, unused int
					var line string
					err := row.Scan(&id, &parent, &unused, &line)
					plan = append(plan, line)
					return err
				},
			})
		}
		arguments := strings.Count(text, "?")
		for i := range arguments {
			text = strings.Replace(text, "?", fmt.Sprintf("$%d", i+1), 1)
		}
		nulls := strings.TrimPrefix(strings.Repeat(", NULL", arguments), ", ")
		if nulls != "" {
			nulls = "(" + nulls + ")"
		}
		for _, sql := range []string{
			"SET LOCAL enable_seqscan = off", "SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE planned AS " + text,
			"EXPLAIN EXECUTE planned" + nulls, "DEALLOCATE planned",
		} {
			if err := tx.Pipeline(database.Statement{SQL: sql, Scan: line}); err != nil {
				return err
			}
		}
		return nil
	}))
	return strings.Join(plan, "\n")
}
