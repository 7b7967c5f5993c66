package intents

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// pagesOf are the titles of the intents that an agent lists, page by page, and the last page.
func (h *house) pagesOf(
	t *testing.T, ctx context.Context, req *openintentv1.ListIntentsRequest, //nolint:revive // t comes first in tests
) (titles [][]string, last *openintentv1.ListIntentsResponse) {
	t.Helper()
	for {
		page, err := h.ListIntents(ctx, req)
		require.NoError(t, err)
		listed := []string{}
		for _, intent := range page.GetIntents() {
			listed = append(listed, intent.GetTitle())
		}
		titles = append(titles, listed)
		if page.NextCursor == nil {
			return titles, page
		}
		req.Cursor, req.Offset = page.NextCursor, nil
	}
}

// numbered makes active intents of an agent, whose titles are numbers.
func (h *house) numbered(t *testing.T, agent string, count int) (made []*openintentv1.Intent) {
	t.Helper()
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	for i := range count {
		made = append(made, h.createIntent(t, agent, &openintentv1.CreateIntentRequest{Title: fmt.Sprint(i), Status: &active}))
	}
	return made
}

func TestIntentsAreListedInEitherDirection(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		made := h.numbered(t, "ann", 7)
		h.closeList(t, made[2].GetId())
		h.closeList(t, made[5].GetId())
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		_, err := h.setStatus("ann", made[3].GetId(), StatusCompleted)
		require.NoError(t, err)
		scoped := caller.NewContext(context.Background(), caller.Caller{
			Agent: "bob", Scope: &caller.Scope{Intents: []string{made[6].GetId(), made[0].GetId(), made[2].GetId(), made[3].GetId()}},
		})
		for _, c := range []struct {
			ctx    context.Context
			status *openintentv1.IntentStatus
			offset int32
			want   string
		}{
			{asOperator(), nil, 0, "0 1|2 3|4 5|6"},
			{asOperator(), &active, 0, "0 1|2 4|5 6"},
			{asOperator(), nil, 3, "3 4|5 6"},
			{as("bob"), nil, 0, "0 1|3 4|6"},
			{as("bob"), &active, 0, "0 1|4 6"},
			{as("bob"), &active, 1, "1 4|6"},
			{as("bob"), nil, 1, "1 3|4 6"},
			{scoped, nil, 0, "0 3|6"},
			{scoped, &active, 0, "0 6"},
		} {
			req := &openintentv1.ListIntentsRequest{Limit: pointer(int32(2)), Status: c.status, Offset: &c.offset}
			titles, last := h.pagesOf(t, c.ctx, req)
			require.Equal(t, c.want, joined(titles))
			count := len(slices.Concat(titles...)) + int(c.offset)
			require.EqualValues(t, count, last.GetTotal())
			require.False(t, last.GetTotalBounded())
			require.False(t, last.GetBounded())
			if c.offset > 0 {
				continue
			}
			newest, last := h.pagesOf(t, c.ctx, &openintentv1.ListIntentsRequest{
				Limit: pointer(int32(2)), Status: c.status, Order: pointer("desc"),
			})
			backwards := slices.Concat(titles...)
			slices.Reverse(backwards)
			require.Equal(t, backwards, slices.Concat(newest...))
			require.EqualValues(t, count, last.GetTotal())
		}
	})
}

func joined(pages [][]string) string {
	var texts []string
	for _, page := range pages {
		texts = append(texts, strings.Join(page, " "))
	}
	return strings.Join(texts, "|")
}

func TestAListOfIntentsLooksAtABoundedNumber(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.looking = looking{candidates: 6, atOnce: 4}
		made := h.numbered(t, "ann", 20)
		for i, intent := range made[:16] {
			if i < 8 {
				h.closeList(t, intent.GetId())
				continue
			}
			_, err := h.setStatus("ann", intent.GetId(), StatusCompleted)
			require.NoError(t, err)
		}
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		list := func(ctx context.Context, req *openintentv1.ListIntentsRequest) *openintentv1.ListIntentsResponse {
			page, err := h.ListIntents(ctx, req)
			require.NoError(t, err)
			return page
		}

		all := list(asOperator(), &openintentv1.ListIntentsRequest{})
		require.EqualValues(t, 6, all.GetTotal())
		require.True(t, all.GetTotalBounded())
		require.Len(t, all.GetIntents(), 20, "only the count is bounded")
		require.False(t, all.GetBounded())

		first := list(as("bob"), &openintentv1.ListIntentsRequest{Status: &active})
		require.True(t, first.GetBounded(), "twelve have the status and bob may read twelve, four of them with the status")
		require.Empty(t, first.GetIntents())
		require.True(t, first.GetTotalBounded())
		titles, _ := h.pagesOf(t, as("bob"), &openintentv1.ListIntentsRequest{Status: &active})
		require.Equal(t, "16 17 18 19", strings.Join(slices.Concat(titles...), " "))
		require.Equal(t, "18 19", joined([][]string{h.firstPage(t, as("bob"), &openintentv1.ListIntentsRequest{Status: &active, Offset: pointer(int32(2))})}),
			"an offset counts as many as before")

		few := list(as("eve"), &openintentv1.ListIntentsRequest{
			Status: openintentv1.IntentStatus_INTENT_STATUS_DRAFT.Enum(),
		})
		require.Zero(t, few.GetTotal())
		require.False(t, few.GetBounded(), "few have the status")
		require.False(t, few.GetTotalBounded())

		h = &house{db: h.db, clock: h.clock, Service: New(Config{DB: h.db, DefaultAccess: PolicyClosed})}
		h.looking = looking{candidates: 6, atOnce: 4}
		mine := h.numbered(t, "eve", 3)
		own := list(as("eve"), &openintentv1.ListIntentsRequest{Status: &active})
		require.Len(t, own.GetIntents(), len(mine), "eve may read few")
		require.EqualValues(t, len(mine), own.GetTotal())
		require.False(t, own.GetBounded())
		require.False(t, own.GetTotalBounded())
	})
}

func (h *house) firstPage(t *testing.T, ctx context.Context, req *openintentv1.ListIntentsRequest) (titles []string) { //nolint:revive // t comes first in tests
	t.Helper()
	page, err := h.ListIntents(ctx, req)
	require.NoError(t, err)
	for _, intent := range page.GetIntents() {
		titles = append(titles, intent.GetTitle())
	}
	return titles
}

// TestPlansOfListsGoByIndexes plans the statements of lists on a database whose statistics mislead: all intents have one status and one
// creator.
func TestPlansOfListsGoByIndexes(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var mutex sync.Mutex
		texts := make(map[string]struct{})
		db := databasetest.Open(t, database.Config{URL: url, Hooks: database.Hooks{Statement: func(_ context.Context, text string) func() {
			mutex.Lock()
			defer mutex.Unlock()
			texts[text] = struct{}{}
			return nil
		}}})
		h := &house{db: db, Service: New(Config{DB: db})}
		h.looking = looking{candidates: 6, atOnce: 4}
		crowd(t, db, 5_000)
		clear(texts)
		scoped := caller.NewContext(context.Background(), caller.Caller{Agent: "bob", Scope: &caller.Scope{Intents: []string{"intent-7"}}})
		for _, ctx := range []context.Context{asOperator(), as("bob"), as("creator"), scoped} {
			for _, status := range []*openintentv1.IntentStatus{
				nil, openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(), openintentv1.IntentStatus_INTENT_STATUS_BLOCKED.Enum(),
			} {
				for _, order := range []string{"asc", "desc"} {
					_, err := h.ListIntents(ctx, &openintentv1.ListIntentsRequest{Status: status, Order: &order})
					require.NoError(t, err)
				}
			}
		}
		_, err := h.OpenIntent(as("bob"), &openintentv1.OpenIntentRequest{Title: "Another"})
		require.NoError(t, err)
		planned := 0
		for text := range texts {
			if strings.HasPrefix(text, "SELECT") && strings.Contains(text, "intent_no") {
				planned++
				for _, step := range stepsOf(t, db, text) {
					require.False(t, readsAll(step), "%s\n\n%s", step, text)
				}
			}
		}
		require.Greater(t, planned, 10)
	})
}

// crowd stores many intents of one creator and one status, to half of which an agent is assigned.
func crowd(t *testing.T, db *database.DB, count int) {
	t.Helper()
	rows, empty, none := "(WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ?) SELECT i FROM g) AS g", "x'7b7d'", "x'5b5d'"
	if db.Engine() == database.PostgreSQL {
		rows, empty, none = "generate_series(1, CAST(? AS bigint)) AS g(i)", `'\x7b7d'::bytea`, `'\x5b5d'::bytea`
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		insert := func(into, values string) database.Statement {
			return database.Statement{SQL: "INSERT INTO " + into + " SELECT " + values + " FROM " + rows, Args: []any{count}}
		}
		return tx.Pipeline(
			insert("intents (intent_no, id, title, description, created_by, constraints, state, confidence, version, depends_on, created_at, updated_at)",
				"i, 'intent-' || i, 'T', '', 'creator', "+empty+", "+empty+", 0, 1, "+none+", i, i"),
			insert("intent_heads (intent_no, status, resumed_at, last_position, last_sequence, last_channel, last_at, epoch)",
				"i, 'active', 0, 1, 1, 0, i, 1"),
			insert("assignments (intent_no, agent_id, id, role, assigned_at)", "i * 2, 'bob', 'assignment-' || i, '', i"),
			database.Statement{SQL: "ANALYZE"},
		)
	}))
}

// stepsOf returns the steps of a statement's plan that read tables.
func stepsOf(t *testing.T, db *database.DB, text string) (steps []string) {
	t.Helper()
	arguments := make([]any, strings.Count(text, "?"))
	explain := []database.Statement{{SQL: "EXPLAIN QUERY PLAN " + text, Args: arguments, Scan: func(row database.Row) error {
		var id, parent, unused int
		var step string
		err := row.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	}}}
	if db.Engine() == database.PostgreSQL {
		nulls := ""
		if len(arguments) > 0 {
			nulls = "(NULL" + strings.Repeat(", NULL", len(arguments)-1) + ")"
		}
		for i := range arguments {
			text = strings.Replace(text, "?", fmt.Sprintf("$%d", i+1), 1)
		}
		explain = []database.Statement{
			{SQL: "SET LOCAL enable_seqscan = off"}, {SQL: "PREPARE planned AS " + text},
			{SQL: "EXPLAIN EXECUTE planned" + nulls, Scan: func(row database.Row) error {
				var line string
				err := row.Scan(&line)
				switch {
				case strings.Contains(line, "Scan"):
					steps = append(steps, strings.TrimSpace(line))
				case len(steps) > 0 && (strings.Contains(line, "Cond:") || strings.Contains(line, "Filter:")):
					steps[len(steps)-1] += "\n" + strings.TrimSpace(line)
				}
				return err
			}},
			{SQL: "DEALLOCATE planned"},
		}
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		for _, statement := range explain {
			if err := tx.Pipeline(statement); err != nil {
				return fmt.Errorf("%s: %w", statement.SQL, err)
			}
		}
		return nil
	}))
	return steps
}

var (
	// scan is the step of a plan that reads a table or an index from its beginning to its end.
	scan = regexp.MustCompile(`^SCAN [ihw]\b|^Seq Scan`)
	// sifting is the step that reads rows in the order of the intents' numbers and drops those without a key.
	sifting = regexp.MustCompile(`(?s)intent_no [<>].*Filter:.*(created_by|agent_id|principal_id|status|default_policy)`)
)

// readsAll reports whether a step of a plan may read all rows of a table, or all of an intent's agents, to find a few. The indexes of what
// everybody may read have no other rows.
func readsAll(step string) bool {
	if strings.Contains(step, "intents_without_list") || strings.Contains(step, "intents_open") {
		return false
	}
	return scan.MatchString(step) || sifting.MatchString(step)
}
