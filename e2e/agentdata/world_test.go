package agentdata

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/database"
	"openintent/e2e/harness"
)

// checkEvery is how often a wait looks again.
const checkEvery = 20 * time.Millisecond

// world is a server on which dora has done everything that an agent can do. Each thing that she says has a word that begins with erased,
// or with kept where events have a copy. The words of others begin with theirs.
type world struct {
	*harness.Server
	t *testing.T
	// ids are those of what was made, by the names that the test gives.
	ids map[string]string
	// secret is that of dora's webhook.
	secret string
}

// call makes a call over REST that must succeed. A name in braces stands for the id under it.
func (w *world) call(agent, method, path, body string, headers ...string) harness.Answer {
	w.t.Helper()
	var pairs []string
	for name, id := range w.ids {
		pairs = append(pairs, "{"+name+"}", id)
	}
	filled := strings.NewReplacer(pairs...)
	answer := w.As(agent).REST(w.t, method, "/v1/"+filled.Replace(path), filled.Replace(body), headers...)
	assert.Less(w.t, answer.Status, 300, "%s %s: %s", method, path, answer.Body)
	return answer
}

// make is call for a POST whose answer has the id to remember.
func (w *world) make(name, agent, path, body string, headers ...string) {
	w.t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	w.call(agent, "POST", path, body, headers...).Decode(w.t, &made)
	require.NotEmpty(w.t, made.ID)
	w.ids[name] = made.ID
}

// fill lets dora, and others beside her, do everything.
func fill(t *testing.T, server *harness.Server) *world {
	t.Helper()
	w := &world{Server: server, t: t, ids: map[string]string{}}
	w.call("dora", "POST", "agents/register", `{"agent_id": "dora", "role_id": "editor", "name": "erasedname", "capabilities": ["erasedskill"],
		"endpoint": "http://127.0.0.1:9/erasedendpoint", "metadata": {"about": "erasedabout"}}`)
	w.call("dora", "POST", "agents/dora/heartbeat", `{"status_note": "erasednote"}`)
	w.call("alice", "POST", "agents/register", `{"agent_id": "alice", "role_id": "reviewer"}`)
	w.make("intent", "alice", "intents", `{"title": "Report", "status": "active"}`)
	w.make("hers", "dora", "intents", `{"title": "Other", "status": "active"}`)
	w.call("alice", "POST", "intents/{intent}/agents", `{"agent_id": "dora"}`)
	w.call("dora", "POST", "intents/{hers}/acl/entries", `{"principal_id": "carol", "permission": "write", "reason": "keptreason"}`)
	w.call("alice", "POST", "intents/{intent}/coordinator", `{"agent_id": "dora"}`)
	w.make("talk", "alice", "intents/{intent}/channels", `{"name": "talk"}`)
	w.make("ledger", "alice", "intents/{intent}/channels", `{"name": "ledger", "options": {"audit": true}}`)
	w.make("small", "dora", "intents/{intent}/channels", `{"name": "small", "options": {"max_messages": 3}}`)
	w.make("club", "dora", "intents/{intent}/channels", `{"name": "club", "member_policy": "explicit", "members": ["alice", "dora"]}`)
	w.make("closing", "alice", "intents/{intent}/channels", `{"name": "closing"}`)
	w.make("private", "alice", "intents/{intent}/channels", `{"name": "private", "member_policy": "explicit", "members": ["alice", "bob"]}`)
	w.subscribe()
	w.sayAll()
	w.actOnMessages()
	w.callAll()
	w.call("alice", "DELETE", "channels/{gone}", "")
	w.call("alice", "PATCH", "channels/{closing}", `{"status": "closed"}`)
	w.call("alice", "POST", "intents/{ended}/status", `{"status": "completed"}`, "If-Match", "1")
	return w
}

// subscribe makes subscriptions, which get what is sent afterwards.
func (w *world) subscribe() {
	w.make("work", "dora", "subscriptions", `{"name": "erasedwork", "intent_id": "{intent}"}`)
	var hook struct {
		Secret string `json:"secret"`
	}
	w.call("dora", "POST", "subscriptions", `{"name": "hook", "intent_id": "{intent}", "webhook_url": "https://erasedhook.example/"}`).Decode(w.t, &hook)
	w.secret = hook.Secret
	w.make("others", "alice", "subscriptions", `{"name": "others", "intent_id": "{intent}"}`)
}

// sayAll sends messages of every kind, in channels of every kind.
func (w *world) sayAll() {
	w.make("first", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedfirst"}, "metadata": {"m": "erasedmeta"}}`)
	w.call("dora", "PATCH", "channels/{talk}/messages/{first}", `{"payload": {"text": "erasedsecond"}}`)
	w.make("keyed", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "subject": "erasedsubject", "payload": {"text": "erasedkeyed"}}`,
		"Idempotency-Key", "erasedkey")
	w.make("open", "dora", "channels/{talk}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedquestion"}}`)
	w.make("owed", "dora", "channels/{talk}/messages",
		`{"message_type": "request", "to": "alice", "obligation": {"blocks": "halted"}, "payload": {"text": "erasedowed"}}`)
	w.make("settled", "dora", "channels/{talk}/messages",
		`{"message_type": "request", "to": "alice", "obligation": {"blocks": "halted"}, "payload": {"text": "erasedsettled"}}`)
	w.make("late", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "alice", "payload": {"text": "erasedlate"}, "expires_at": "`+
		time.Now().Add(500*time.Millisecond).UTC().Format(time.RFC3339Nano)+`"}`)
	w.make("document", "dora", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "kind": "plan", "document": true, "payload": {"text": "eraseddocument"}}`)
	w.make("clubbed", "dora", "channels/{club}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedclub"}}`)
	w.make("closed", "dora", "channels/{closing}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedclosed"}}`)
	w.make("evicted", "dora", "channels/{small}/messages", `{"message_type": "request", "to": "alice", "payload": {"text": "erasedevicted"}, "expires_at": "2099-01-01T00:00:00Z"}`)
	for n := range 4 {
		w.call("alice", "POST", "channels/{small}/messages", fmt.Sprintf(`{"message_type": "notify", "to": "*", "payload": {"small": %d}}`, n))
	}
	w.make("audited", "dora", "channels/{ledger}/messages", `{"message_type": "notify", "to": "alice", "payload": {"text": "keptaudited"}}`)
	w.make("ended", "alice", "intents", `{"title": "Done", "status": "active"}`)
	w.make("past", "alice", "intents/{ended}/channels", `{"name": "past"}`)
	w.make("old", "dora", "channels/{past}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedold"}}`)
	w.make("gone", "alice", "intents/{intent}/channels", `{"name": "gone"}`)
	w.call("dora", "POST", "channels/{gone}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedgone"}}`)

	w.make("toher", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirsdirect"}}`)
	w.make("answered", "alice", "channels/{talk}/messages", `{"message_type": "request", "to": "dora", "payload": {"text": "theirsquestion"}}`)
	w.make("answer", "dora", "channels/{talk}/messages/{answered}/reply", `{"payload": {"text": "erasedanswer"}}`)
	w.make("signal", "alice", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "theirsnotice"}}`)
	w.make("exact", "alice", "channels/{talk}/messages",
		`{"message_type": "request", "to": "role:editor", "collect": {"quorum": 2}, "payload": {"text": "theirsexact"}}`)
	w.make("secret", "alice", "channels/{private}/messages", `{"message_type": "notify", "to": "bob", "payload": {"text": "theirsprivate"}}`)
}

// actOnMessages lets dora do with messages what agents do with them.
func (w *world) actOnMessages() {
	w.call("dora", "PUT", "channels/{talk}/messages/{signal}/reactions/working", `{"note": "erasedremark", "eta": "erasedeta"}`)
	w.call("alice", "PUT", "channels/{talk}/messages/{signal}/reactions/agree", `{"note": "theirsremark"}`)
	w.call("dora", "POST", "channels/{talk}/messages/{toher}/disposition", `{"disposition": "deferred", "reason": "erasedexcuse"}`)
	w.call("dora", "PATCH", "channels/{talk}/messages/{toher}", `{"status": "read"}`)
	w.call("dora", "POST", "channels/{talk}/messages/{settled}/discharge", `{"note": "eraseddischarge"}`)
	w.call("dora", "POST", "channels/{talk}/messages/{exact}/claim", `{"ttl_seconds": 3600}`, "Idempotency-Key", "erasedclaim")
	w.call("dora", "POST", "agents/dora/inbox/surfaced", `{"message_ids": ["{toher}"]}`)
}

// callAll lets dora receive, and gives it a lease, a key and an invite.
func (w *world) callAll() {
	w.call("dora", "POST", "intents/{intent}/leases", `{"scope": "chapter 3", "duration_seconds": 3600}`)
	w.call("dora", "GET", "subscriptions/{work}/deliveries?limit=100", "")
	w.call("dora", "POST", "channels/{club}/invites", `{"agents": ["guest-zoe"]}`)
	var made struct {
		Key struct {
			ID string `json:"key_id"`
		} `json:"key"`
	}
	answer := w.Operator().REST(w.t, "POST", "/v1/keys", `{"label": "dora's", "agents": ["dora"]}`)
	require.Less(w.t, answer.Status, 300, answer.Body)
	answer.Decode(w.t, &made)
	w.ids["key"] = made.Key.ID
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
func (w *world) depart() { w.call("dora", "DELETE", "agents/dora", "") }
