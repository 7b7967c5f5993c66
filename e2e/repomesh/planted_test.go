package repomesh

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A refusal over REST names the part of the request that is wrong: a parameter of the query, a member of the body, the part of the path or
// the header. The tests of the profile for MCP plant each argument of each action.
func TestRefusalsNameThePartThatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		_, lock, task := h.den(t)
		ann := h.agent("ann")
		long, large := strings.Repeat("x", 300), strings.Repeat("x", 300_000)
		zero := "a%00b"
		for _, row := range []struct{ method, path, body, field string }{
			{"GET", "/events?channel=" + zero, "", "channel"},
			{"GET", "/events?agent_id=" + zero, "", "agent_id"},
			{"GET", "/events?recipient_id=" + zero, "", "recipient_id"},
			{"GET", "/events?recipient_id=" + long, "", "recipient_id"},
			{"GET", "/events?type=" + zero, "", "type"},
			{"GET", "/events?type=" + long, "", "type"},
			{"GET", "/events?task_id=" + zero, "", "task_id"},
			{"GET", "/events?parent_message_id=" + zero, "", "parent_message_id"},
			{"GET", "/events?payload_contains=" + zero, "", "payload_contains"},
			{"GET", "/events?since=" + zero, "", "since"},
			{"GET", "/events?since=today", "", "since"},
			{"GET", "/events?before=today", "", "before"},
			{"GET", "/events?direction=up", "", "direction"},
			{"GET", "/events?limit=-1", "", "limit"},
			{"GET", "/events?limit=many", "", "limit"},
			{"GET", "/events?include_payload=maybe", "", "include_payload"},
			{"GET", "/events?retry_count=x", "", "retry_count"},
			{"GET", "/events/inbox?type=" + zero, "", "type"},
			{"POST", "/events/inbox", `{"channel":"a\u0000"}`, "channel"},
			{"GET", "/events/search?keyword=" + zero, "", "keyword"},
			{"GET", "/events/search?keyword=" + long, "", "keyword"},
			{"GET", "/events/search?keyword=x&from=" + long, "", "from"},
			{"GET", "/events/search?keyword=x&to=" + long, "", "to"},
			{"GET", "/events/search?keyword=x&cursor=" + zero, "", "cursor"},
			{"GET", "/events/thread/" + zero, "", "message_id"},
			{"GET", "/events/thread/x?cursor=" + zero, "", "cursor"},
			{"POST", "/locks/acquire", `{"resource_key":"` + long + `"}`, "resource_key"},
			{"POST", "/locks/acquire", `{"resource_key":"x","ttl":0}`, "ttl"},
			{"POST", "/locks/" + lock + "/renew", `{"ttl":1000000}`, "ttl"},
			{"POST", "/locks/" + zero + "/renew", `{}`, "lock_id"},
			{"POST", "/locks/" + zero + "/release", `{}`, "lock_id"},
			{"POST", "/tasks", `{"goal":""}`, "goal"},
			{"POST", "/tasks", `{"goal":"x","assignee":"a/b"}`, "assignee"},
			{"POST", "/tasks", `{"goal":"x","deps":["none"]}`, "deps[0]"},
			{"POST", "/tasks", `{"goal":"x","retry_count":"x"}`, "retry_count"},
			{"POST", "/tasks", `{"goal":"x","repo_id":7}`, "repo_id"},
			{"GET", "/tasks?status=" + zero, "", "status"},
			{"GET", "/tasks?assignee=" + zero, "", "assignee"},
			{"GET", "/tasks?cursor=" + zero, "", "cursor"},
			{"POST", "/tasks/" + zero + "/claim", `{}`, "task_id"},
			{"POST", "/tasks/" + task + "/claim", `{"resource_key":"` + long + `"}`, "resource_key"},
			{"POST", "/tasks/" + task + "/claim", `{"resource_key":"x","lease_ttl":-1}`, "lease_ttl"},
			{"PATCH", "/tasks/" + task, `{"progress":"half"}`, "progress"},
			{"PATCH", "/tasks/" + zero, `{}`, "task_id"},
			{"POST", "/agents/register", `{"capabilities":7}`, "capabilities"},
			{"POST", "/tasks", `{"goal":"x","acceptance_criteria":"` + large + `"}`, "acceptance_criteria"},
			{"POST", "/tasks", `{"goal":"x","scope":{"a":"` + large + `"}}`, "scope"},
			{"POST", "/tasks", `{"goal":"x","metadata":{"a":"` + large + `"}}`, "metadata"},
			{"PATCH", "/tasks/" + task, `{"notes":"` + large + `"}`, "notes"},
			{"PATCH", "/tasks/" + task, `{"summary":"` + large + `"}`, "summary"},
			{"POST", "/agents/register", `{"type":"` + large + `"}`, "type"},
			{"POST", "/agents/register", `{"capabilities":{"a":"` + large + `"}}`, "capabilities"},
			{"POST", "/events", `{"payload":{"content":"` + large + `"}}`, "payload"},
			{"POST", "/events", `{"payload":{"content":"x","metadata":{"a":"` + large + `"}}}`, "payload.metadata"},
			{"POST", "/agents/" + zero + "/heartbeat", `{}`, "agent_id"},
			{"POST", "/agents/ann/heartbeat", `{"current_task":"` + long + `"}`, "current_task"},
			{"GET", "/agents?status=" + zero, "", "status"},
			{"GET", "/agents?limit=-1", "", "limit"},
			{"POST", "/events", `{"payload":{"content":"x","to":"` + long + `"}}`, "payload.to"},
			{"POST", "/events", `{"payload":{"content":"x","subject":"` + strings.Repeat("x", 3000) + `"}}`, "payload.subject"},
			{"POST", "/events", `{"payload":{"content":"x","mentions":["a/b"]}}`, "payload.mentions"},
			{"POST", "/events", `{"payload":{"content":"x"},"channel":"a/b"}`, "channel"},
			{"POST", "/events", `{"payload":{"content":"x","channel":"a/b"}}`, "payload.channel"},
			{"POST", "/events", `{"payload":{"content":"x"},"type":"a\nb"}`, "type"},
		} {
			what := fmt.Sprintf("%s %.100s %.100s", row.method, row.path, row.body)
			answer := ann.REST(t, row.method, base+row.path, row.body)
			var said struct{ Payload object }
			answer.Decode(t, &said)
			assert.Contains(t, []int{400, 413}, answer.Status, "%s: %.300s", what, answer.Body)
			assert.Regexp(t, `^`+regexp.QuoteMeta(row.field)+`[:.\[]`, said.Payload["message"], what)
		}
		for _, body := range []string{`{"agent_id":"a\u0000","resource_key":"x"}`, `{"agent_id":"a/b","resource_key":"x"}`} {
			answer := h.Operator().REST(t, "POST", base+"/locks/acquire", body)
			assert.Contains(t, string(answer.Body), `"message":"agent_id: `, "its program names itself")
			assert.Equal(t, 400, answer.Status)
		}
		answer := ann.REST(t, "POST", base+"/events", `{"payload":{"content":"x"}}`, "Idempotency-Key", long)
		assert.Contains(t, string(answer.Body), `"message":"idempotency_key: `)
		assert.Equal(t, 400, answer.Status)
	})
}
