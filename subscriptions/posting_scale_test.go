package subscriptions

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"openintent/messaging/reading"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// resting doubles the number of webhook subscriptions a given number of times. It writes them to the database directly, as if
// another replica had created them. They begin at the beginning of their logs.
func (r rooms) resting(t *testing.T, doublings int) {
	const kept = `subscriber_id, intent_no, intent_id, event_types, webhook_url, use_endpoint, secret, acknowledge_seconds,
		max_attempts, created_at, cleared, last_number, offered_through`
	err := r.db.Write(context.Background(), func(tx *database.Tx) error {
		for i := range doublings {
			suffix := fmt.Sprintf("_%d", i)
			err := tx.Pipeline(database.Statement{
				SQL: "INSERT INTO subscriptions (id, name, " + kept + ") SELECT id || ?, name || ?, " + kept +
					" FROM subscriptions WHERE secret IS NOT NULL",
				Args: []any{suffix, suffix},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// plan returns how the engine would run a query.
func (r rooms) plan(t *testing.T, query string, args ...any) string {
	var lines []string
	explain := database.Statement{SQL: "EXPLAIN " + query, Args: args, Scan: func(row database.Row) error {
		var line string
		err := row.Scan(&line)
		lines = append(lines, line)
		return err
	}}
	if r.db.Engine() == database.SQLite {
		explain.SQL = "EXPLAIN QUERY PLAN " + query
		explain.Scan = func(row database.Row) error {
			var id, parent, unused int
			var line string
			err := row.Scan(&id, &parent, &unused, &line)
			lines = append(lines, line)
			return err
		}
	}
	err := r.db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "ANALYZE subscriptions"}, explain)
	})
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

func TestWhatIsDueIsFoundByAnIndexAmongTenThousand(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.subscriptions.Stop() // nobody examines the many subscriptions
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: ptr("https://example.com/hook")})
		h.resting(t, 14) // 16,384
		assert.Contains(t, h.plan(t, dueQuery, int64(0)), "subscriptions_post_at")
		_, due, err := h.subscriptions.postedSubscriptions(context.Background())
		require.NoError(t, err)
		assert.Empty(t, due)
	}, posting)
}

func TestSubscriptionsAtRestCostNoGoroutine(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		h.subscribe(t, "b", &createInput{
			IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
		})
		h.resting(t, 6)
		const count = 64
		atRest := func() bool {
			p := h.subscriptions.poster
			p.mutex.Lock()
			defer p.mutex.Unlock()
			for _, f := range p.followed {
				if f.busy {
					return false
				}
			}
			return len(p.followed) == count && p.examining == 0 && len(p.endpoints) == 0 && len(p.queue) == 0
		}
		require.NoError(t, h.subscriptions.poll(context.Background()))
		eventually(t, atRest, "the subscriptions did not come to rest")
		h.send(t, "a", channelID, "b", "to all of them")
		endpoint.await(t, count)
		eventually(t, atRest, "the subscriptions did not come to rest again")
		assert.Len(t, endpoint.all(), count)
	}, posting)
}
