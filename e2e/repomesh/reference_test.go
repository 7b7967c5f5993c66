package repomesh

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// These are flows of RepoMesh's reference: its clients share one key, name themselves in their arguments, and read the reference's names.

// program is a client of the reference: its key is bound to no agent, and it sends no X-Agent-ID.
func (h *house) program() agent { return agent{h.With(harness.Key, "")} }

// registers makes an agent as the reference's clients do, and returns its id.
func (p agent) registers(t *testing.T, name string) string {
	t.Helper()
	made := p.does(t, "POST", "/agents/register", object{
		"name": name, "type": "cli", "capabilities": object{"mcp": true}, "repo_id": nil, "reuse_existing": true, "takeover_if_stale": true,
	})
	require.Equal(t, []any{name, "cli", "active"}, []any{made["name"], made["type"], made["status"]})
	require.NotEmpty(t, made["last_heartbeat_at"])
	return made["id"].(string)
}

func TestAProgramOfTheReferencePassesMessagesOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		p := h.program()
		sender, recipient, other := p.registers(t, "sender"), p.registers(t, "recipient"), p.registers(t, "other")
		require.Equal(t, sender, p.registers(t, "sender"), "an agent is its name")
		chats := func(to, content string) object {
			event := object{"type": "chat.message", "payload": object{"content": content}, "agent_id": sender, "channel": "work", "task_id": nil}
			if to != "" {
				event["recipient_id"] = to
			}
			return p.does(t, "POST", "/events", event)
		}
		direct := chats(recipient, "direct")
		require.Equal(t, []any{recipient, sender, "work", "info"}, []any{direct["recipient_id"], direct["agent_id"], direct["channel"], direct["severity"]})
		all := chats("", "to all")
		require.Nil(t, all["recipient_id"])
		chats(other, "for another")
		inbox := p.does(t, "GET", "/events"+query("recipient_id", recipient, "include_broadcast", "True", "channel", "work", "type", "chat.message",
			"direction", "asc", "limit", "20"), nil)
		require.Equal(t, []string{direct["id"].(string), all["id"].(string)}, ids(items(t, inbox, "items")))
		require.EqualValues(t, 2, inbox["count"])
		require.Equal(t, recipient, items(t, inbox, "items")[0]["recipient_id"])
		require.Nil(t, items(t, inbox, "items")[1]["recipient_id"])

		first := p.does(t, "GET", "/events/inbox"+query("recipient_id", recipient, "channel", "work", "include_payload", "false"), nil)
		require.NotContains(t, items(t, first, "items")[0], "payload")
		require.Equal(t, all["created_at"], first["latest_seen_at"])
		since := query("recipient_id", recipient, "since", first["latest_seen_at"].(string), "direction", "asc", "limit", "10")
		nothing := p.does(t, "GET", "/events/inbox"+since, nil)
		require.Equal(t, []any{0.0, first["latest_seen_at"]}, []any{nothing["count"], nothing["latest_seen_at"]}, "a poll goes on where it was")
		more := chats(recipient, "more")
		incremental := p.does(t, "GET", "/events/inbox"+since, nil)
		require.Equal(t, []string{more["id"].(string)}, ids(items(t, incremental, "items")))
		require.Equal(t, "more", payload(items(t, incremental, "items")[0])["content"])

		require.Equal(t, 400, p.REST(t, "POST", base+"/events", `{"payload":{"content":"x"},"agent_id":"operator"}`).Status)
		require.Len(t, items(t, p.does(t, "GET", "/agents", nil), "items"), 3)
	})
}

func TestAProgramOfTheReferenceFollowsThreads(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		p := h.program()
		sender, recipient := p.registers(t, "thread-sender"), p.registers(t, "thread-recipient")
		chats := func(event object) string {
			event["type"], event["agent_id"] = "chat.message", sender
			return p.does(t, "POST", "/events", event)["id"].(string)
		}
		root := chats(object{"channel": "work", "payload": object{"content": "root"}})
		reply := chats(object{"channel": "work", "parent_message_id": root, "payload": object{"content": "reply"}})
		nested := chats(object{"channel": "work", "parent_message_id": reply, "payload": object{"content": "nested"}})
		children := p.does(t, "GET", "/events"+query("parent_message_id", root, "direction", "asc", "limit", "10"), nil)
		require.Equal(t, []string{reply}, ids(items(t, children, "items")), "in whichever channel they are")
		thread := p.does(t, "GET", "/events/thread/"+root+query("limit", "20", "include_payload", "true"), nil)
		require.Equal(t, []string{root, reply, nested}, ids(items(t, thread, "items")))
		require.EqualValues(t, 3, thread["count"])
		require.Equal(t, reply, items(t, thread, "items")[2]["parent_message_id"])

		asked := chats(object{"payload": object{"to": "thread-recipient", "channel": "orchestration", "content": "by the payload's names"}})
		answer := chats(object{"payload": object{"recipient_id": recipient, "channel": "orchestration", "reply_to": asked, "content": "again"}})
		listed := p.does(t, "GET", "/events"+query("agent_id", sender, "limit", "20"), nil)
		newest := items(t, listed, "items")[0]
		require.Equal(t, []any{answer, asked, recipient, "orchestration"},
			[]any{newest["id"], newest["parent_message_id"], newest["recipient_id"], newest["channel"]})
		require.Len(t, items(t, p.does(t, "GET", "/events"+query("channel", "orchestration", "payload_contains", "by the payload"), nil), "items"), 1)
	})
}

func TestAProgramOfTheReferenceLocksAndWorks(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		p := h.program()
		one, two := p.registers(t, "one"), p.registers(t, "two")
		lock := p.does(t, "POST", "/locks/acquire", object{"resource_key": "repo://backend/contracts/*", "agent_id": one, "ttl": 300})
		require.Equal(t, []any{"repo://backend/contracts/*", one, "active"}, []any{lock["resource_key"], lock["owner_agent_id"], lock["state"]})
		require.Equal(t, "LOCK_CONFLICT", p.refused(t, 409, "POST", "/locks/acquire",
			object{"resource_key": "repo://backend/contracts/*", "agent_id": two, "ttl": 300})["error_code"])
		path := "/locks/" + lock["id"].(string)
		require.Equal(t, lock["id"], p.does(t, "POST", path+"/renew", object{"agent_id": one, "ttl": 600})["id"])
		require.Equal(t, 404, p.REST(t, "POST", base+path+"/release", `{"agent_id":"two"}`).Status)

		task := p.does(t, "POST", "/tasks", object{
			"goal": "Implement it", "description": "", "scope": object{"files": []string{"task.py"}, "component": "api"}, "priority": 2, "repo_id": nil,
		})["id"].(string)
		uri := "task://" + task
		require.Equal(t, task, items(t, p.does(t, "GET", "/tasks?status=pending&scope=api", nil), "items")[0]["id"])
		require.Empty(t, items(t, p.does(t, "GET", "/tasks?scope=web", nil), "items"))
		claim := p.does(t, "POST", "/tasks/"+task+"/claim", object{"agent_id": one, "resource_key": uri, "lease_ttl": 120})
		require.Equal(t, []any{task, one, uri, "active"}, []any{claim["task_id"], claim["agent_id"], claim["resource_key"], claim["state"]})
		require.NotEmpty(t, claim["expires_at"])
		require.Equal(t, "TASK_CLAIM_CONFLICT", p.refused(t, 409, "POST", "/tasks/"+task+"/claim",
			object{"agent_id": two, "resource_key": uri, "lease_ttl": 120})["error_code"])
		require.Empty(t, items(t, p.does(t, "GET", "/tasks?status=pending", nil), "items"))
		listed := items(t, p.does(t, "GET", "/tasks?status=claimed", nil), "items")
		require.Equal(t, []any{task, one}, []any{listed[0]["id"], listed[0]["assignee_agent_id"]})
		event := p.does(t, "POST", "/events", object{"type": "test.run", "severity": "info", "payload": object{"ok": true}, "task_id": task, "agent_id": one})
		require.Equal(t, []any{task, "test.run"}, []any{event["task_id"], event["type"]})
		require.Len(t, items(t, p.does(t, "GET", "/events"+query("task_id", task, "type", "test.run"), nil), "items"), 1)

		p.does(t, "POST", "/events", object{"type": "review.finding", "agent_id": two, "task_id": task, "payload": object{"file_path": "task.py", "message": "a race"}})
		p.does(t, "PATCH", "/tasks/"+task, object{"status": "in_progress", "progress": 50, "summary": "half"})
		require.Equal(t, "completed", p.does(t, "PATCH", "/tasks/"+task, object{"status": "completed"})["status"])
		found := items(t, p.does(t, "GET", "/tasks?task_id="+task, nil), "items")[0]["details"].(object)["findings"].([]any)
		require.Equal(t, two, found[0].(object)["reviewer_id"])
		released := p.does(t, "POST", path+"/release", object{"agent_id": one})
		require.Equal(t, []any{lock["id"], "released"}, []any{released["id"], released["state"]})
		require.NotEmpty(t, released["released_at"])
		beat := p.does(t, "POST", "/agents/one/heartbeat", object{"status": "active", "current_task": nil})
		require.Equal(t, []any{one, "active"}, []any{beat["id"], beat["status"]})
	})
}

// Whom a program names with a key that is bound to no agent, it could as well name in X-Agent-ID. Nobody else gets anything by naming
// another: neither a bound key, nor one that is kept to an intent, nor a guest.
func TestANameInTheArgumentsProvesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.program().registers(t, "ann")
		message, lock, task := h.den(t)
		var intent, scoped object
		h.As("lead").REST(t, "POST", "/v1/intents", `{"title":"Elsewhere"}`).Decode(t, &intent)
		h.Operator().REST(t, "POST", "/v1/keys", `{"label":"kim","agents":["kim"],"intents":["`+intent["id"].(string)+`"]}`).Decode(t, &scoped)
		before := h.traces(t)
		naming := []struct{ method, path, body string }{
			{"POST", "/agents/register", `{"name":"ann","type":"mine"}`},
			{"POST", "/agents/register", `{"agent_id":"ann","type":"mine"}`},
			{"POST", "/agents/ann/heartbeat", `{"status":"inactive"}`},
			{"POST", "/events", `{"agent_id":"ann","payload":{"content":"mine"}}`},
			{"POST", "/events", `{"payload":{"content":"mine","from_id":"ann"}}`},
			{"GET", "/events/inbox?recipient_id=ann", ""},
			{"POST", "/events/inbox", `{"recipient_id":"ann","mark_read":true}`},
			{"POST", "/locks/acquire", `{"resource_key":"x","agent_id":"ann"}`},
			{"POST", "/locks/" + lock + "/release", `{"agent_id":"ann"}`},
			{"POST", "/tasks/" + task + "/claim", `{"agent_id":"ann"}`},
			{"PATCH", "/tasks/" + task, `{"agent_id":"ann","status":"completed"}`},
			{"POST", "/tasks", `{"agent_id":"ann","goal":"mine"}`},
		}
		for _, stranger := range []agent{{h.With(harness.BoundKey, "")}, {h.With(scoped["secret"].(string), "")}, {h.With(harness.Key, "eve")}} {
			for _, call := range naming {
				answer := stranger.REST(t, call.method, base+call.path, call.body)
				require.Equal(t, http.StatusForbidden, answer.Status, "%v: %s", call, answer.Body)
				require.Contains(t, string(answer.Body), `"SENDER_MISMATCH"`)
			}
			listed := stranger.REST(t, "GET", base+"/events?recipient_id=ann&type=agent.chat", "")
			require.NotContains(t, string(listed.Body), secret)
			require.NotContains(t, string(stranger.REST(t, "GET", base+"/events/thread/"+message, "").Body), secret)
		}
		require.Equal(t, before, h.traces(t))
		for _, call := range []struct{ method, path, body string }{
			{"POST", "/agents/register", `{"type":"cli"}`}, {"POST", "/events", `{"payload":{"content":"by nobody"}}`}, {"GET", "/events/inbox", ""},
			{"POST", "/locks/acquire", `{"resource_key":"x"}`}, {"POST", "/tasks/claim", `{}`},
		} {
			require.Equal(t, "AGENT_NEEDED", h.program().refused(t, 403, call.method, call.path, jsonOf(t, call.body))["reason"], "%v", call)
		}
		require.Equal(t, before, h.traces(t))
	})
}

// Who registers takes part as if it had written: it finds what is for all in its inbox, and is found by its name. It gets no right by that.
func TestWhoRegistersTakesPart(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.agent("ann")
		ann.says(t, "agent.chat", object{"content": "The mesh is there."})
		before := ann.says(t, "agent.chat", object{"content": "Hello @ben, @cleo."})
		require.NotContains(t, payload(ann.does(t, "GET", "/events/thread/"+before, nil)["message"].(object)), "mentions")
		h.agent("ben").does(t, "POST", "/agents/register", object{"name": "ben", "type": "cli"})
		h.agent("cleo").does(t, "POST", "/agents/cleo/heartbeat", object{})
		said := ann.says(t, "agent.chat", object{"content": "Hello @ben, @cleo, @dora."})
		require.Equal(t, []any{"ben", "cleo"}, payload(ann.does(t, "GET", "/events/thread/"+said, nil)["message"].(object))["mentions"])
		for _, name := range []string{"ben", "cleo", "dora"} {
			var inbox struct{ Items []object }
			h.As(name).REST(t, "GET", "/v1/agents/"+name+"/inbox", "").Decode(t, &inbox)
			require.Equal(t, name != "dora", len(inbox.Items) > 0, "%s: what is for all comes to those who take part", name)
		}
		var access object
		h.Operator().REST(t, "GET", "/v1/intents/repomesh/acl", "").Decode(t, &access)
		require.Empty(t, access["entries"])
		require.Equal(t, 403, h.As("ben").REST(t, "PUT", "/v1/intents/repomesh/acl", `{"default_policy":"closed"}`).Status)
		require.Equal(t, 403, h.As("ben").REST(t, "POST", "/v1/intents/repomesh/channels", `{"name":"taped","options":{"audit":true}}`).Status)
		var elsewhere object
		h.As("lead").REST(t, "POST", "/v1/intents", `{"title":"Closed","default_policy":"closed"}`).Decode(t, &elsewhere)
		refused := h.As("ben").REST(t, "POST", "/v1/agents/register", fmt.Sprintf(`{"agent_id":"ben","takes_part_in":%q}`, elsewhere["id"]))
		require.Equal(t, 403, refused.Status, "%s", refused.Body)
		other := h.With(harness.BoundKey, "").REST(t, "POST", "/v1/agents/register", `{"agent_id":"dora","takes_part_in":"repomesh"}`)
		require.Equal(t, 403, other.Status, "%s", other.Body)
	})
}

// What nobody but its holder changes, others say beside: a task shows their findings, and no flood of one hides those of another.
func TestFindingsOfOthersAreReadWithTheTask(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben, cleo := h.agent("ann"), h.agent("ben"), h.agent("cleo")
		id := ann.open(t, "review auth", 1)
		finds := func(by agent, what string) object {
			return by.logs(t, object{"type": "review.finding", "payload": object{"task_id": id, "file_path": "f.py", "message": what}})["effect"].(object)
		}
		early := finds(ben, "before anybody has the task")
		require.Contains(t, early["note"], "read with the task")
		ann.does(t, "POST", "/tasks/"+id+"/claim", object{})
		require.EqualValues(t, 1, finds(ann, "of the holder")["findings_count"])
		require.NotContains(t, finds(ben, "of another"), "refused")
		for i := range 52 {
			finds(cleo, fmt.Sprintf("flood %d", i))
		}
		version := ann.task(t, id)["version"]
		var messages []any
		for _, one := range ben.task(t, id)["details"].(object)["findings"].([]any) {
			messages = append(messages, one.(object)["message"])
		}
		require.Len(t, messages, 53)
		require.Equal(t, []any{"of the holder", "before anybody has the task", "of another", "flood 2", "flood 3"}, messages[:5])
		require.Equal(t, version, ann.task(t, id)["version"], "nobody else has changed the task")
		done := ann.logs(t, object{"type": "review.completed", "payload": object{"task_id": id}})["effect"].(object)
		require.Equal(t, "completed", done["status"])
		require.EqualValues(t, 53, ann.task(t, id)["details"].(object)["findings_count"])
	})
}

// Locks of the ids of tasks are words that anybody may lease. They keep nobody from the tasks.
func TestLocksOfOthersKeepNobodyFromATask(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, stranger := h.agent("ann"), agent{h.With(harness.BoundKey, "")}
		var tasks []string
		for i := range 7 {
			id := ann.open(t, fmt.Sprintf("task %d", i), 5)
			tasks = append(tasks, id)
			for _, word := range []string{"task:", "task://"} {
				stranger.does(t, "POST", "/locks/acquire", object{"resource_key": word + id, "ttl": 3600})
			}
		}
		for i := range 6 {
			claimed := ann.does(t, "POST", "/tasks/claim", object{})
			require.Equal(t, []any{tasks[i], "ann", nil}, []any{claimed["task_id"], claimed["task"].(object)["assignee"], claimed["lock"]})
			require.Equal(t, "LOCK_CONFLICT", claimed["lock_refused"].(object)["error_code"])
		}
		byName := ann.does(t, "POST", "/tasks/"+tasks[6]+"/claim", object{"resource_key": "task://" + tasks[6]})
		require.Equal(t, []any{tasks[6], nil}, []any{byName["task_id"], byName["lock"]})
		other := ann.open(t, "another", 1)
		stranger.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py"})
		ann.refused(t, 409, "POST", "/tasks/"+other+"/claim", object{"resource_key": "src/auth.py"})
		require.Equal(t, "open", ann.task(t, other)["status"], "a resource that the caller names comes with the task, or neither")
		require.Equal(t, 403, stranger.REST(t, "PATCH", base+"/tasks/"+tasks[0], `{"status":"completed"}`).Status)
	})
}
