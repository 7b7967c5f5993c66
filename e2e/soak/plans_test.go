package soak

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// statements collects the texts of a database's statements.
type statements struct {
	mutex sync.Mutex
	texts map[string]struct{}
}

func (s *statements) note(_ context.Context, text string) (row func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.texts[text] = struct{}{}
	return nil
}

// plannable returns, sorted, those texts that have a plan.
func (s *statements) plannable() (texts []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for text := range s.texts {
		switch word, _, _ := strings.Cut(strings.TrimSpace(text), " "); word {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return texts
}

// node is a part of a plan.
type node struct {
	Type      string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	Condition string `json:"Index Cond"`
	Filter    string `json:"Filter"`
	Plans     []node `json:"Plans"`
}

func (n node) scans() (found []node) {
	if n.Index != "" || n.Type == "Seq Scan" {
		found = append(found, n)
	}
	for _, part := range n.Plans {
		if part.Relation == "" && strings.HasPrefix(n.Type, "Bitmap") { // the parts below do not name the relation
			part.Relation = n.Relation
		}
		found = append(found, part.scans()...)
	}
	return found
}

// planOf plans a statement as the server does: independently of its arguments.
func planOf(t *testing.T, conn *sql.Conn, text string) node {
	t.Helper()
	ctx := t.Context()
	parts := strings.Split(text, "?")
	var numbered strings.Builder
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(&numbered, "$%d", i)
		}
		numbered.WriteString(part)
	}
	_, err := conn.ExecContext(ctx, "PREPARE planned AS "+numbered.String())
	require.NoError(t, err, text)
	defer func() {
		_, err := conn.ExecContext(ctx, "DEALLOCATE planned")
		require.NoError(t, err)
	}()
	var arguments int
	row := conn.QueryRowContext(ctx, "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'planned'")
	require.NoError(t, row.Scan(&arguments))
	execute := "EXPLAIN (FORMAT JSON) EXECUTE planned"
	if arguments > 0 {
		execute += "(NULL" + strings.Repeat(", NULL", arguments-1) + ")"
	}
	var explained []byte
	require.NoError(t, conn.QueryRowContext(ctx, execute).Scan(&explained), text)
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal(explained, &plans))
	return plans[0].Plan
}

// growing are the tables that grow with what agents do.
var growing = []string{
	"messages", "events", "intent_heads", "receipts", "offers", "open_requests", "evicted_requests", "idempotency_keys", "audiences",
	"subscription_deliveries", "annotations", "reactions", "message_revisions",
}

// crowd creates a hundred thousand messages in intents of five messages each, as many in a single intent, and similar
// rows in the other tables.
const crowd = `
INSERT INTO messages (intent_no, position, channel_no, ordinal, id, sender, target, message_type, payload, metadata, created_at,
		thread_position, thread_id, correlation_position)
	SELECT n, p, 1, p, 'msg_' || n || '_' || p, 'agent-' || (n + p) % 5000, CASE WHEN p % 3 = 0 THEN 'agent-1' END, 'notify', '{}', '{}', p,
		CASE WHEN p % 10 = 3 THEN p / 50 * 50 + 1 END, CASE WHEN p % 10 = 3 THEN 'msg_' || n || '_' || p / 50 * 50 + 1 END,
		CASE WHEN p % 10 = 4 THEN p / 50 * 50 + 1 END
	FROM (SELECT 1 + i / 5 AS n, i % 5 AS p FROM generate_series(0, 99999) AS i
		UNION ALL SELECT 50000, i FROM generate_series(1, 100000) AS i) AS place;
INSERT INTO events (intent_no, sequence, position, id, event_type, actor, payload, created_at, hash)
	SELECT intent_no, position, position, 'event' || id, 'comment', sender, '{}', created_at, '' FROM messages;
INSERT INTO receipts SELECT intent_no, position, 'agent-1', 0 FROM messages WHERE position % 2 = 0;
INSERT INTO offers SELECT intent_no, position, 'agent-1', 0 FROM messages WHERE position % 2 = 0;
INSERT INTO open_requests SELECT intent_no, position, 1, sender, 0, CASE WHEN position % 2 = 0 THEN position END
	FROM messages WHERE position % 10 = 1;
INSERT INTO evicted_requests SELECT intent_no, position, position FROM messages WHERE position % 10 = 2;
INSERT INTO idempotency_keys SELECT intent_no, sender, 'channel:1', id, '', position, 'channel', id, NULL, created_at FROM messages;
INSERT INTO audiences SELECT DISTINCT sender, intent_no, true FROM messages;
INSERT INTO subscription_deliveries SELECT intent_no % 100, row_number() OVER (PARTITION BY intent_no % 100), intent_no, position,
	1, 0, 0, CASE WHEN intent_no % 100 > 50 THEN 0 END, NULL, CASE WHEN position % 5 = 0 THEN 0 END FROM messages;
INSERT INTO annotations SELECT intent_no, position + 200000, 1, position, 'annotation' || id, 'message_reaction', 'agent-1', '{}', position
	FROM messages;
INSERT INTO reactions SELECT intent_no, position + 200000, position, 'agent-' || position % 10, 'seen', '', '', position, 1, position % 3 <> 0
	FROM messages;
INSERT INTO message_revisions SELECT intent_no, position, 1, '{}', '{}', '', NULL, position FROM messages;
INSERT INTO claims SELECT intent_no, position, 'agent-' || intent_no % 5000, 1, id, position, '', 0, '', 10000000 + position, 1 FROM messages;
INSERT INTO intents SELECT i, 'intent' || i, '', '', 'agent-' || i % 12, '{}', '{}', 0, 1, NULL, '[]', NULL, NULL, 0, 0
	FROM generate_series(1, 20000) AS i;
INSERT INTO intent_heads SELECT i, 'active', NULL, 0, 5, 5, 1, NULL, 0, 1 FROM generate_series(1, 20000) AS i;
INSERT INTO channels SELECT i, 1, 'channel' || i, 'n', NULL, '', 'intent', false, NULL, 100, 0 FROM generate_series(1, 20000) AS i;
INSERT INTO channel_heads SELECT i, 1, 5, 0, 0 FROM generate_series(1, 20000) AS i;
ANALYZE`

// favour makes nearly all requests open and addressed to a single agent, which is assigned to a third of all intents.
const favour = `
DELETE FROM open_requests;
INSERT INTO open_requests SELECT intent_no, position, 1, CASE WHEN position % 1000 = 1 THEN 'agent-2' ELSE 'agent-1' END, created_at, NULL
	FROM messages WHERE position % 5 <> 0;
INSERT INTO assignments SELECT i, 'agent-1', 'assignment' || i, '', 0 FROM generate_series(1, 20000) AS i WHERE i % 3 = 0;
ANALYZE`

// TestPlansGoByWholeKeys plans every statement that a load makes on a database with very many small intents and a
// large one. At first its agents are all similar; then one agent has nearly everything.
func TestPlansGoByWholeKeys(t *testing.T) {
	found := &statements{texts: make(map[string]struct{})}
	h := start(t, databasetest.URL(t, database.PostgreSQL), func(cfg *server.Config) { cfg.Hooks.Statement = found.note })
	l := newLoad(t, h)
	t.Cleanup(l.followThroughout(t))
	for number := range 9 {
		require.NoError(t, l.live(t.Context(), number))
	}
	l.redrive(t)
	conn := connect(t, databasetest.URL(t, database.PostgreSQL))
	for _, grown := range []string{crowd, favour} {
		_, err := conn.ExecContext(t.Context(), grown)
		require.NoError(t, err)
		planned := 0
		for _, text := range found.plannable() {
			planned++
			for _, scan := range planOf(t, conn, text).scans() {
				if linear(scan) {
					t.Errorf("this reads rows of %s that it is not about, by %q with the condition %q and the filter %q:\n%s",
						scan.Relation, scan.Index, scan.Condition, scan.Filter, strings.Join(strings.Fields(text), " "))
				}
			}
		}
		require.Greater(t, planned, 100)
	}
}

// redrive redrives a message that a subscription gave up. Such messages are rare, so no life has one.
func (l *load) redrive(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	f := &life{load: l, leader: l.h.As(agent(0)), friend: l.h.As(agent(1))}
	require.NoError(t, f.begin(ctx))
	sub, err := f.friend.Subscriptions.CreateSubscription(ctx, &openintentv1.CreateSubscriptionRequest{
		IntentId: &f.intent.Id, AcknowledgeSeconds: proto.Int32(1), MaxAttempts: proto.Int32(1),
	})
	require.NoError(t, err)
	_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content("for nobody")})
	require.NoError(t, err)
	_, err = f.fetch(ctx, sub.GetId())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := f.friend.Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		page, err := f.friend.Subscriptions.ListDeadLetters(ctx, &openintentv1.ListDeadLettersRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		return len(page.GetDeadLetters()) > 0
	}, harness.Patience, 10*time.Millisecond, "the message was not given up")
	_, err = f.friend.Subscriptions.RedriveDeadLetters(ctx, &openintentv1.RedriveDeadLettersRequest{SubscriptionId: sub.GetId()})
	require.NoError(t, err)
}

// few are indexes of which a single column selects few rows (what waits in a subscription's window, dead letters,
// rows stored in one microsecond), or whose key is a single column.
var few = []string{
	"intent_heads_pkey", "subscription_deliveries_live", "subscription_deliveries_dead", "subscription_deliveries_dead_place",
	"idempotency_keys_age",
}

// linear reports whether a scan of a growing table reads all of it, or all of an intent or a subscription, to find a
// few rows.
func linear(scan node) bool {
	if slices.Contains(few, scan.Index) && scan.Condition != "" {
		return false
	}
	keyed := strings.Contains(scan.Condition, " AND ") || strings.Contains(scan.Condition, "id = ")
	return slices.Contains(growing, scan.Relation) && (scan.Condition == "" || !keyed && scan.Filter != "" || siftsMembers(scan))
}

// siftsMembers reports whether a scan reads messages that have nothing to do with each other, to find those of a thread, the answers to a
// request, or what is for certain recipients. Each of these has an index.
func siftsMembers(scan node) bool {
	if scan.Relation != "messages" || strings.Contains(scan.Condition, "id = ") || strings.Contains(scan.Condition, "\"position\" = ") {
		return false
	}
	for _, column := range []string{"thread_position = ", "correlation_position = ", "thread_id = "} {
		if strings.Contains(scan.Filter, column) {
			return true
		}
	}
	return false
}

func connect(t *testing.T, url string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for _, setting := range []string{
		"plan_cache_mode = force_generic_plan", "enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "jit = off",
	} {
		_, err := conn.ExecContext(t.Context(), "SET "+setting)
		require.NoError(t, err)
	}
	return conn
}
