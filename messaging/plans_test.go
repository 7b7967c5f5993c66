package messaging

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// wholeChannel is met by a plan that reads all messages of a channel or an intent to find a few.
var wholeChannel = regexp.MustCompile(`on messages m[^\n]*\n\s*Index Cond: \(\(intent_no = \S+\)(?: AND \(channel_no = \S+\))?\)\n\s*Filter: [^\n]*\b(id|position)\b`)

// PostgreSQL seeks messages by their ids and positions, before it has counted the tables and after it has counted them nearly empty. It
// then expects as much of an index that leads through a whole channel.
func TestMessagesAreSoughtWhateverIsCounted(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	seen := make(map[string]struct{})
	h := newHouse(t, database.PostgreSQL, withHooks(database.Hooks{Statement: func(_ context.Context, text string) func() {
		mutex.Lock()
		defer mutex.Unlock()
		seen[text] = struct{}{}
		return nil
	}}))
	id := h.open(t)
	root, asked := h.say(t, "a", id, "root"), h.asks(t, "a", id, "b")
	h.reply(t, "b", id, asked.GetId(), "yes")
	below := h.send(t, "a", under(id, root.GetId(), "below"))
	for _, message := range []string{root.GetId(), below.GetId()} {
		_, err := h.messaging.GetThread(as("b"), &threadRequest{ChannelId: id, MessageId: message})
		require.NoError(t, err)
	}
	for _, list := range []*listRequest{{ThreadId: &root.Id}, {CorrelationId: &asked.Id}, {CorrelationId: &root.Id}} {
		list.ChannelId = id
		_, err := h.messaging.ListMessages(as("b"), list)
		require.NoError(t, err)
	}
	mutex.Lock()
	texts := slices.Sorted(maps.Keys(seen)) // a plan makes statements, too
	mutex.Unlock()
	for _, counted := range []bool{false, true} { // nearly empty
		planned := 0
		for _, text := range texts {
			if strings.HasPrefix(text, "SELECT") && strings.Contains(text, "FROM messages m WHERE") {
				planned++
				require.NotRegexp(t, wholeChannel, genericPlan(t, h.db, text), "%t: %s", counted, text)
			}
		}
		require.Greater(t, planned, 5)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "ANALYZE"})
		}))
	}
}

// genericPlan returns PostgreSQL's plan of a statement for all arguments, on tables that are not worth reading whole.
func genericPlan(t *testing.T, db *database.DB, text string) string {
	t.Helper()
	arguments := strings.Count(text, "?")
	for i := range arguments {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", i+1), 1)
	}
	nulls := strings.TrimPrefix(strings.Repeat(", NULL", arguments), ", ")
	var plan []string
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		plan = nil
		for _, sql := range []string{
			"SET LOCAL enable_seqscan = off", "PREPARE planned AS " + text, "EXPLAIN EXECUTE planned(" + nulls + ")", "DEALLOCATE planned",
		} {
			if err := tx.Pipeline(database.Statement{SQL: sql, Scan: func(row database.Row) error {
				var line string
				err := row.Scan(&line)
				plan = append(plan, line)
				return err
			}}); err != nil {
				return err
			}
		}
		return nil
	}))
	return strings.Join(plan, "\n")
}
