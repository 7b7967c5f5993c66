package repomesh

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

func TestAgentsAreListed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.agent("ann")
		record := ann.does(t, "POST", "/agents/register", object{"name": "ann", "type": "code-reviewer", "capabilities": "Security reviews, code analysis"})
		require.Equal(t, []any{"ann", "ann", "code-reviewer", "active", []any{"Security reviews", "code analysis"}},
			[]any{record["agent_id"], record["name"], record["type"], record["status"], record["capabilities"]})
		h.agent("ben").does(t, "POST", "/agents/ben/heartbeat", object{})
		h.agent("cleo").does(t, "POST", "/agents/cleo/heartbeat", object{"status": "inactive"})
		var names []any
		path := "/agents?limit=1"
		for path != "" {
			page := ann.does(t, "GET", path, nil)
			for _, one := range items(t, page, "agents") {
				names = append(names, one["name"])
			}
			path = ""
			if next, more := page["next"].(string); more {
				path = "/agents" + query("limit", "1", "cursor", next)
			}
		}
		require.Equal(t, []any{"ann", "ben", "cleo"}, names)
		require.Len(t, items(t, ann.does(t, "GET", "/agents?status=dead", nil), "agents"), 1)
		require.Equal(t, "PERMISSION_DENIED", ann.refused(t, 403, "POST", "/agents/ben/heartbeat", object{"status": "recovered"})["error_code"])
		require.Equal(t, "PERMISSION_DENIED", ann.refused(t, 403, "POST", "/agents/register", object{"name": "ben"})["error_code"])
	})
}

// The tools are the same actions, and small enough for a model.
func TestAModelHasTheActionsAsTools(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.model(t, "ann"), h.agent("ben")
		listed, err := ann.ListTools(t.Context(), &sdk.ListToolsParams{})
		require.NoError(t, err)
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			require.NotNil(t, tool.Annotations, tool.Name)
			tool.Annotations = nil // harnesses keep them for themselves
		}
		require.ElementsMatch(t, []string{
			"event.log", "event.list", "event.inbox", "event.search", "event.thread", "lock.acquire", "lock.renew", "lock.release",
			"task.create", "task.list", "task.claim", "task.update", "agent.register", "agent.heartbeat", "agent.list",
		}, names)
		written, err := json.Marshal(listed.Tools)
		require.NoError(t, err)
		require.Less(t, len(written), 6_000, "a token is about three bytes")

		sent, refused := ann.calls(t, "event.log", object{"payload": object{"to": "ben", "content": "Hello"}})
		require.False(t, refused, sent)
		require.Equal(t, []string{sent["id"].(string)}, ids(ben.events(t, "/events/inbox")))
		long := make([]byte, 20_000)
		for i := range long {
			long[i] = 'x'
		}
		reply := ben.says(t, "agent.chat", object{"to": "ann", "content": string(long)})
		inbox, _ := ann.calls(t, "event.inbox", nil)
		cut := items(t, inbox, "items")[0]
		require.Greater(t, cut["cut_from_bytes"], 20_000.0)
		require.Len(t, payload(cut)["content"], 400)
		whole, _ := ann.calls(t, "event.thread", object{"message_id": reply})
		require.Len(t, payload(whole["message"].(object))["content"], len(long))
		said, refused := ann.calls(t, "event.log", object{"payload": object{"from": "ben", "content": "x"}})
		require.True(t, refused)
		require.Equal(t, []any{"agent.error", "PERMISSION_DENIED"}, []any{said["type"], payload(said)["error_code"]})
	})
}

// The mesh is what the setting names, for a key of one intent that one, and otherwise the server's own.
func TestTheMeshIsWhatTheSettingOrTheKeyNames(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var intent, key object
		h.As("lead").REST(t, "POST", "/v1/intents", `{"title":"Elsewhere"}`).Decode(t, &intent)
		made := h.Operator().REST(t, "POST", "/v1/keys", `{"label":"kim","agents":["kim"],"intents":["`+intent["id"].(string)+`"]}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		made.Decode(t, &key)
		kim := agent{h.With(key["secret"].(string), "")}
		sent := kim.says(t, "agent.chat", object{"content": "here"})
		require.Equal(t, []string{sent}, ids(kim.events(t, "/events")))
		require.Empty(t, h.agent("ann").events(t, "/events"))

		other := &house{Server: harness.Start(t, harness.Options{URL: databasetest.URL(t, database.SQLite), Configure: func(cfg *server.Config) {
			cfg.RepomeshIntent = "nowhere"
		}})}
		require.Equal(t, "INTENT_NOT_FOUND", other.agent("ann").refused(t, 404, "POST", "/events", object{"payload": object{"content": "x"}})["reason"])
	})
}

func TestAClosedDoorIsClosedForModelsToo(t *testing.T) {
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.Doors = "mcp" }})
	require.Equal(t, 404, h.As("ann").REST(t, "GET", base+"/events", "").Status)
	answer := h.As("ann").REST(t, "POST", "/mcp?tools=repomesh", "{}")
	require.Equal(t, 400, answer.Status)
	require.Contains(t, string(answer.Body), "PROFILE_UNKNOWN")
}
