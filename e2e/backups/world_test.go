package backups

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
)

// checkEvery is how often a wait looks again.
const checkEvery = 20 * time.Millisecond

// house is a server with rows in nearly every table.
type house struct {
	*harness.Making
	t *testing.T
}

// fill makes rows of every kind.
func fill(t *testing.T, server *harness.Server) *house {
	t.Helper()
	h := &house{Making: harness.NewMaking(t, server), t: t}
	h.Call("alice", "POST", "agents/register", `{"agent_id": "alice", "role_id": "editor"}`)
	h.Call("bob", "POST", "agents/register", `{"agent_id": "bob", "role_id": "reviewer"}`)
	h.Call("bob", "PUT", "agents/bob/refused/mallory", `{}`)
	signIn := h.Operator().REST(t, "POST", "/console/session", `{"api_key": "`+harness.Key+`"}`, "X-OpenIntent-Console", "sign-in")
	require.Equal(t, 201, signIn.Status, "%s", signIn.Body)
	h.Make("intent", "alice", "intents", `{"title": "Report", "status": "active"}`)
	h.Call("alice", "POST", "intents/{intent}/agents", `{"agent_id": "bob"}`)
	h.Call("alice", "POST", "intents/{intent}/acl/entries", `{"principal_id": "carol", "permission": "write"}`)
	h.Call("alice", "POST", "intents/{intent}/coordinator", `{"agent_id": "bob"}`)
	h.Make("first task", "alice", "intents/{intent}/tasks", `{"name": "collect"}`)
	h.Make("second task", "alice", "intents/{intent}/tasks", `{"name": "write", "depends_on": ["{first task}"]}`)
	h.Make("talk", "alice", "intents/{intent}/channels", `{"name": "talk", "dictatable": true}`)
	h.Make("ledger", "alice", "intents/{intent}/channels", `{"name": "ledger", "options": {"audit": true}}`)
	h.Make("small", "alice", "intents/{intent}/channels", `{"name": "small", "options": {"max_messages": 3}}`)
	h.Make("club", "alice", "intents/{intent}/channels", `{"name": "club", "member_policy": "explicit", "members": ["alice", "bob"]}`)
	h.Make("opened", "alice", "intents/{intent}/channels", `{"name": "opened", "member_policy": "explicit", "members": ["alice", "bob"]}`)
	h.Call("alice", "PATCH", "channels/{opened}", `{"member_policy": "intent"}`)
	h.Make("work", "bob", "subscriptions", `{"name": "work", "intent_id": "{intent}"}`)
	h.Make("quiet", "carol", "subscriptions", `{"name": "quiet", "intent_id": "{intent}", "compose": true}`)

	h.Make("open", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "bob", "payload": {"n": 1}}`,
		"Idempotency-Key", "first")
	h.Make("answered", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "bob", "payload": {"n": 2}}`)
	h.Make("response", "bob", "channels/{talk}/messages/{answered}/reply", `{"payload": {"n": 3}}`)
	h.Make("first", "alice", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "searchable"}}`)
	h.Make("reply", "bob", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "parent_id": "{first}", "payload": {"n": 5}}`)
	h.Make("exact", "alice", "channels/{talk}/messages",
		`{"message_type": "request", "to": "role:reviewer", "collect": {"quorum": 2}, "payload": {"n": 6}}`)
	h.Call("bob", "POST", "channels/{talk}/messages/{exact}/claim", `{"ttl_seconds": 3600}`)
	h.Make("owed", "alice", "channels/{talk}/messages",
		`{"message_type": "request", "to": "bob", "obligation": {"blocks": "halted"}, "payload": {"n": 7}}`)
	h.Make("document", "alice", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "kind": "plan", "document": true, "payload": {"n": 8}}`)
	h.Call("alice", "PATCH", "channels/{talk}/messages/{first}", `{"payload": {"text": "searchable and edited"}}`)
	h.Call("bob", "PUT", "channels/{talk}/messages/{first}/reactions/agree", `{}`)
	h.Call("bob", "POST", "channels/{talk}/messages/{open}/disposition", `{"disposition": "deferred", "reason": "after lunch"}`)
	h.Call("bob", "PATCH", "channels/{talk}/messages/{open}", `{"status": "read"}`)
	h.Make("audited", "alice", "channels/{ledger}/messages", `{"message_type": "notify", "to": "bob", "payload": {"n": 9}}`)
	h.Make("evicted", "alice", "channels/{small}/messages", `{"message_type": "request", "to": "bob", "payload": {"n": 10}, "expires_at": "2099-01-01T00:00:00Z"}`)
	for n := range 5 {
		h.Call("alice", "POST", "channels/{small}/messages", fmt.Sprintf(`{"message_type": "notify", "to": "*", "payload": {"small": %d}}`, n))
	}
	h.Call("alice", "POST", "intents/{intent}/leases", `{"scope": "chapter 3", "duration_seconds": 3600}`)
	h.Call("alice", "POST", "channels/{talk}/invites", `{"agents": ["guest-zoe"]}`)
	h.Call("bob", "GET", "subscriptions/{work}/deliveries?limit=5", "")
	h.Call("carol", "GET", "subscriptions/{quiet}/deliveries?limit=5", "")

	// Another intent has ended, and a channel is gone.
	h.Make("ended", "alice", "intents", `{"title": "Done", "status": "active"}`)
	h.Make("past", "alice", "intents/{ended}/channels", `{"name": "past"}`)
	h.Call("alice", "POST", "channels/{past}/messages", `{"message_type": "request", "to": "bob", "payload": {"n": 11}}`)
	h.Call("alice", "POST", "intents/{ended}/status", `{"status": "completed"}`, "If-Match", "1")
	h.Make("gone", "alice", "intents/{intent}/channels", `{"name": "gone"}`)
	h.Call("alice", "POST", "channels/{gone}/messages", `{"message_type": "notify", "to": "*", "payload": {"n": 12}}`)
	h.Call("alice", "DELETE", "channels/{gone}", "")
	return h
}

// settle waits until the server has done in the background what it does with these rows.
func (h *house) settle() {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		var left int64
		require.NoError(h.t, database.ReadSnapshot(h.t.Context(), h.DatabaseURL, func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&left, `SELECT
				(SELECT COUNT(*) FROM intent_heads h LEFT JOIN search_cursors c ON c.intent_no = h.intent_no WHERE h.last_position <> COALESCE(c.position, 0))
				+ (SELECT COUNT(*) FROM channels WHERE deleted_at IS NOT NULL) + (SELECT COUNT(*) FROM search_removals)
				+ (SELECT CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END FROM evicted_requests)`))
		}))
		return left == 0
	}, harness.Patience, checkEvery)
}

// channel opens a channel for many messages and returns its id.
func (h *house) channel(t *testing.T) string {
	t.Helper()
	if h.IDs["many"] == "" {
		h.Make("many", "alice", "intents/{intent}/channels", `{"name": "many", "options": {"max_messages": 1000000}}`)
	}
	return h.IDs["many"]
}

// lastPosition returns the end of the log of a channel's intent.
func lastPosition(t *testing.T, h *harness.Server, channel string) (position int64) {
	t.Helper()
	require.NoError(t, database.ReadSnapshot(t.Context(), h.DatabaseURL, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&position, "SELECT h.last_position FROM intent_heads h"+
			" JOIN channels c ON c.intent_no = h.intent_no WHERE c.id = ?", channel))
	}))
	return position
}
