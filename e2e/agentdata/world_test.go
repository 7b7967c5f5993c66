package agentdata

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

// world is a server on which dora has done everything that an agent can do. Each thing that she says has a word that begins with erased,
// or with kept where events have a copy. The words of others begin with theirs.
type world struct {
	*harness.Making
	t *testing.T
	// secret is that of dora's webhook.
	secret string
}

// fill lets dora, and others beside her, do everything.
func fill(t *testing.T, server *harness.Server) *world {
	t.Helper()
	w := &world{Making: harness.NewMaking(t, server), t: t}
	w.Call("dora", "POST", "agents/register", `{"agent_id": "dora", "role_id": "editor", "name": "erasedname", "capabilities": ["erasedskill"],
		"endpoint": "http://127.0.0.1:9/erasedendpoint", "metadata": {"about": "erasedabout"}}`)
	w.Call("dora", "POST", "agents/dora/heartbeat", `{"status_note": "erasednote"}`)
	w.Call("alice", "POST", "agents/register", `{"agent_id": "alice", "role_id": "reviewer"}`)
	w.Make("intent", "alice", "intents", `{"title": "Report", "status": "active"}`)
	w.Make("hers", "dora", "intents", `{"title": "Other", "status": "active"}`)
	w.Call("alice", "POST", "intents/{intent}/agents", `{"agent_id": "dora"}`)
	w.Call("dora", "POST", "intents/{hers}/acl/entries", `{"principal_id": "carol", "permission": "write", "reason": "keptreason"}`)
	w.Call("alice", "POST", "intents/{intent}/coordinator", `{"agent_id": "dora"}`)
	w.Make("talk", "alice", "intents/{intent}/channels", `{"name": "talk"}`)
	w.Make("ledger", "alice", "intents/{intent}/channels", `{"name": "ledger", "options": {"audit": true}}`)
	w.Make("small", "dora", "intents/{intent}/channels", `{"name": "small", "options": {"max_messages": 3}}`)
	w.Make("club", "dora", "intents/{intent}/channels", `{"name": "club", "member_policy": "explicit", "members": ["alice", "dora"]}`)
	w.Make("closing", "alice", "intents/{intent}/channels", `{"name": "closing"}`)
	w.Make("private", "alice", "intents/{intent}/channels", `{"name": "private", "member_policy": "explicit", "members": ["alice", "bob"]}`)
	w.subscribe()
	w.sayAll()
	w.actOnMessages()
	w.callAll()
	w.Call("alice", "DELETE", "channels/{gone}", "")
	w.Call("alice", "PATCH", "channels/{closing}", `{"status": "closed"}`)
	w.Call("alice", "POST", "intents/{ended}/status", `{"status": "completed"}`, "If-Match", "1")
	return w
}

// subscribe makes subscriptions, which get what is sent afterwards.
func (w *world) subscribe() {
	w.Make("work", "dora", "subscriptions", `{"name": "erasedwork", "intent_id": "{intent}"}`)
	var hook struct {
		Secret string `json:"secret"`
	}
	w.Call("dora", "POST", "subscriptions", `{"name": "hook", "intent_id": "{intent}", "webhook_url": "https://erasedhook.example/"}`).Decode(w.t, &hook)
	w.secret = hook.Secret
	w.Make("others", "alice", "subscriptions", `{"name": "others", "intent_id": "{intent}"}`)
}

// sayAll sends messages of every kind, in channels of every kind.
func (w *world) sayAll() {
	w.Make("first", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedfirst"}, "metadata": {"m": "erasedmeta"}}`)
	w.Call("dora", "PATCH", "channels/{talk}/messages/{first}", `{"payload": {"text": "erasedsecond"}}`)
	w.Make("keyed", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "subject": "erasedsubject", "payload": {"text": "erasedkeyed"}}`,
		"Idempotency-Key", "erasedkey")
	w.Make("open", "dora", "channels/{talk}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedquestion"}}`)
	w.Make("owed", "dora", "channels/{talk}/messages",
		`{"message_type": "request", "to": "alice", "obligation": {"blocks": "halted"}, "payload": {"text": "erasedowed"}}`)
	w.Make("settled", "dora", "channels/{talk}/messages",
		`{"message_type": "request", "to": "alice", "obligation": {"blocks": "halted"}, "payload": {"text": "erasedsettled"}}`)
	w.Make("late", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "payload": {"text": "erasedlate"}, "expires_at": "`+
		time.Now().Add(500*time.Millisecond).UTC().Format(time.RFC3339Nano)+`"}`)
	w.Make("document", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "kind": "plan", "document": true, "payload": {"text": "eraseddocument"}}`)
	w.Make("clubbed", "dora", "channels/{club}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedclub"}}`)
	w.Make("closed", "dora", "channels/{closing}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedclosed"}}`)
	w.Make("evicted", "dora", "channels/{small}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedevicted"}, "expires_at": "2099-01-01T00:00:00Z"}`)
	for n := range 4 {
		w.Call("alice", "POST", "channels/{small}/messages", fmt.Sprintf(`{"message_type": "notify", "to": "*", "payload": {"small": %d}}`, n))
	}
	w.Make("audited", "dora", "channels/{ledger}/messages", `{"message_type": "notify", "to": "alice", "payload": {"text": "keptaudited"}}`)
	w.Make("ended", "alice", "intents", `{"title": "Done", "status": "active"}`)
	w.Make("past", "alice", "intents/{ended}/channels", `{"name": "past"}`)
	w.Make("old", "dora", "channels/{past}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedold"}}`)
	w.Make("gone", "alice", "intents/{intent}/channels", `{"name": "gone"}`)
	w.Call("dora", "POST", "channels/{gone}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedgone"}}`)

	w.Make("toher", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirsdirect"}}`)
	w.Make("answered", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirsquestion"}}`)
	w.Make("answer", "dora", "channels/{talk}/messages/{answered}/reply", `{"payload": {"text": "erasedanswer"}}`)
	w.Make("signal", "alice", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "theirsnotice"}}`)
	w.Make("exact", "alice", "channels/{talk}/messages",
		`{"message_type": "request", "to": "role:editor", "collect": {"quorum": 2}, "payload": {"text": "theirsexact"}}`)
	w.Make("secret", "alice", "channels/{private}/messages", `{"message_type": "notify", "to": "bob", "payload": {"text": "theirsprivate"}}`)
}

// actOnMessages lets dora do with messages what agents do with them.
func (w *world) actOnMessages() {
	w.Call("dora", "PUT", "channels/{talk}/messages/{signal}/reactions/working", `{"note": "erasedremark", "eta": "erasedeta"}`)
	w.Call("alice", "PUT", "channels/{talk}/messages/{signal}/reactions/agree", `{"note": "theirsremark"}`)
	w.Call("dora", "POST", "channels/{talk}/messages/{toher}/disposition", `{"disposition": "deferred", "reason": "erasedexcuse"}`)
	w.Call("dora", "PATCH", "channels/{talk}/messages/{toher}", `{"status": "read"}`)
	w.Call("dora", "POST", "channels/{talk}/messages/{settled}/discharge", `{"note": "eraseddischarge"}`)
	w.Call("dora", "POST", "channels/{talk}/messages/{exact}/claim", `{"ttl_seconds": 3600}`, "Idempotency-Key", "erasedclaim")
	w.Call("dora", "POST", "agents/dora/inbox/surfaced", `{"message_ids": ["{toher}"]}`)
}

// callAll lets dora receive, and gives it a lease, a key and an invite.
func (w *world) callAll() {
	w.Call("dora", "POST", "intents/{intent}/leases", `{"scope": "chapter 3", "duration_seconds": 3600}`)
	w.Call("dora", "GET", "subscriptions/{work}/deliveries?limit=100", "")
	w.Call("dora", "POST", "channels/{club}/invites", `{"agents": ["guest-zoe"]}`)
	var made struct {
		Key struct {
			ID string `json:"key_id"`
		} `json:"key"`
	}
	answer := w.Operator().REST(w.t, "POST", "/v1/keys", `{"label": "dora's", "agents": ["dora"]}`)
	require.Less(w.t, answer.Status, 300, answer.Body)
	answer.Decode(w.t, &made)
	w.IDs["key"] = made.Key.ID
}

// value reads a number from the database.
func value(t *testing.T, url, query string) (n int64) {
	t.Helper()
	require.NoError(t, database.ReadSnapshot(t.Context(), url, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&n, query))
	}))
	return n
}

// settle waits until the server has done in the background what it does.
func (w *world) settle() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		return value(w.t, w.DatabaseURL, `SELECT
			(SELECT COUNT(*) FROM intent_heads h LEFT JOIN search_cursors c ON c.intent_no = h.intent_no WHERE h.last_position <> COALESCE(c.position, 0))
			+ (SELECT COUNT(*) FROM channels WHERE deleted_at IS NOT NULL) + (SELECT COUNT(*) FROM search_removals)
			+ (SELECT CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END FROM offers WHERE agent_id = 'dora')`) == 0
	}, harness.Patience, checkEvery)
}

// depart lets dora leave.
func (w *world) depart() { w.Call("dora", "DELETE", "agents/dora", "") }
