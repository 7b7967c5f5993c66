package repomesh

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// secret is part of everything that a stranger may not see.
const secret = "the-secret-of-ann"

// everything is a call of each route, about what ann and ben have.
func everything(message, lock, task string) []struct{ method, path, body string } {
	return []struct{ method, path, body string }{
		{"POST", "/events", `{"payload":{"content":"mine","parent_message_id":"` + message + `"}}`},
		{"GET", "/events/thread/" + message, ""},
		{"POST", "/locks/acquire", `{"resource_key":"` + secret + `"}`},
		{"POST", "/locks/" + lock + "/renew", ""},
		{"POST", "/locks/" + lock + "/release", ""},
		{"POST", "/tasks/" + task + "/claim", ""},
		{"PATCH", "/tasks/" + task, `{"status":"completed"}`},
		{"PATCH", "/tasks/" + task, `{"status":"cancelled"}`},
		{"PATCH", "/tasks/" + task, `{"summary":"mine"}`},
		{"POST", "/agents/ann/heartbeat", `{"status":"recovered"}`},
		{"POST", "/agents/ann/heartbeat", `{"status":"inactive"}`},
		{"POST", "/agents/register", `{"name":"ann","type":"mine"}`},
		{"POST", "/events", `{"agent_id":"ann","payload":{"content":"mine"}}`},
		{"POST", "/events/inbox", `{"recipient_id":"ann","mark_read":true}`},
	}
}

// den is what belongs to ann and ben.
func (h *house) den(t *testing.T) (message, lock, task string) {
	t.Helper()
	ann := h.agent("ann")
	ann.does(t, "POST", "/agents/register", object{"type": "x"})
	message = ann.says(t, "agent.chat", object{"to": "ben", "content": secret})
	lock = ann.does(t, "POST", "/locks/acquire", object{"resource_key": secret})["lock_id"].(string)
	task = ann.open(t, "a task", 1)
	ann.does(t, "POST", "/tasks/"+task+"/claim", object{})
	return message, lock, task
}

// traces is what the owners and the operator see, which no attempt may change.
func (h *house) traces(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, path := range []string{"/events?limit=500", "/events/inbox?limit=500", "/tasks", "/agents"} {
		answer := h.As("ann").REST(t, "GET", base+path, "")
		require.Equal(t, http.StatusOK, answer.Status)
		out.Write(answer.Body)
	}
	for _, path := range []string{"/events?limit=1000", "/leases", "/channels"} {
		out.Write(h.Operator().REST(t, "GET", "/v1/intents/repomesh"+path, "").Body)
	}
	return out.String()
}

// A stranger with a key of its own, on an open mesh, takes nothing of others' and changes nothing of it.
func TestAStrangerTakesNothingOnAnOpenMesh(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		message, lock, task := h.den(t)
		before := h.traces(t)
		stranger := agent{h.With(harness.BoundKey, "")}
		for _, call := range everything(message, lock, task) {
			answer := stranger.REST(t, call.method, base+call.path, call.body)
			require.Contains(t, []int{403, 404, 409}, answer.Status, "%v: %s", call, answer.Body)
			require.Contains(t, string(answer.Body), `"agent.error"`)
			if answer.Status != 409 { // a conflict names what the stranger asked for
				require.NotContains(t, string(answer.Body), secret, "%v", call)
			}
		}
		for _, path := range []string{"/events/inbox", "/events/inbox?type=agent.chat", "/events?payload_contains=" + secret + "&type=agent.chat", "/events/search?keyword=" + secret, "/events?recipient_id=ben&type=agent.chat"} {
			require.NotContains(t, string(stranger.REST(t, "GET", base+path, "").Body), secret, path)
		}
		require.Equal(t, before, h.traces(t))
	})
}

// On a closed mesh, a stranger does not even get in; whom the operator lets in, does.
func TestAStrangerDoesNotEnterAClosedMesh(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := &house{Server: harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.DefaultAccess = "closed" }})}
		require.Equal(t, "PERMISSION_DENIED", h.agent("ann").refused(t, 403, "GET", "/events", nil)["error_code"])
		for _, name := range []string{"ann", "ben"} {
			granted := h.Operator().REST(t, "POST", "/v1/intents/repomesh/acl/entries", fmt.Sprintf(`{"principal_id":%q,"permission":"write"}`, name))
			require.Equal(t, http.StatusCreated, granted.Status, "%s", granted.Body)
		}
		message, lock, task := h.den(t)
		before := h.traces(t)
		stranger := agent{h.With(harness.BoundKey, "")}
		for _, call := range append(everything(message, lock, task), []struct{ method, path, body string }{
			{"GET", "/events", ""}, {"GET", "/events/inbox", ""}, {"GET", "/events/search?from=ann", ""}, {"GET", "/tasks", ""}, {"POST", "/tasks", `{"goal":"mine"}`},
			{"POST", "/tasks/claim", "{}"}, {"POST", "/locks/acquire", `{"resource_key":"free"}`}, {"POST", "/events", `{"payload":{"content":"mine"}}`},
		}...) {
			answer := stranger.REST(t, call.method, base+call.path, call.body)
			require.Contains(t, []int{403, 404}, answer.Status, "%v: %s", call, answer.Body)
			require.NotContains(t, string(answer.Body), secret, "%v", call)
		}
		require.NotContains(t, string(stranger.REST(t, "GET", base+"/events/search?keyword="+secret, "").Body), secret)
		require.Equal(t, before, h.traces(t))
	})
}

// Who may not come in is told so in the protocol's form, whatever the route, and before the route matters.
func TestWhoMayNotComeIn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, row := range []struct {
			key, agent, header, value string
			status                    int
			reason                    string
		}{
			{"", "ann", "", "", 401, "API_KEY_MISSING"},
			{"nope", "ann", "", "", 401, "API_KEY_UNKNOWN"},
			{harness.BoundKey, "ann", "", "", 403, "AGENT_NOT_ALLOWED"},
			{harness.Key, "system", "", "", 403, "AGENT_RESERVED"},
			{harness.Key, "ann", "Origin", "https://evil.example", 403, "ORIGIN_NOT_ALLOWED"},
		} {
			for _, call := range append(everything("m", "l", "t"), struct{ method, path, body string }{"GET", "/events", ""}) {
				headers := []string{}
				if row.header != "" {
					headers = []string{row.header, row.value}
				}
				answer := h.With(row.key, row.agent).REST(t, call.method, base+call.path, call.body, headers...)
				require.Equal(t, row.status, answer.Status, "%v %v: %s", row, call, answer.Body)
				require.Contains(t, string(answer.Body), `"`+row.reason+`"`)
				if row.header == "" { // the port itself refuses pages of others
					require.Contains(t, string(answer.Body), `"agent.error"`)
				}
			}
		}
	})
}

// These bodies and addresses are none that the door takes, and nothing comes of them.
func TestWhatIsNoRequestIsRefused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.As("ann")
		h.agent("ann").says(t, "agent.chat", object{"content": "first"})
		before := h.traces(t)
		for what, body := range map[string]string{
			"words": "hello", "a list": "[]", "half": `{"payload":{`, "a member twice": `{"payload":{"content":"x"},"payload":{}}`,
			"deep": `{"payload":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_001), "a null byte": "{\"payload\":{\"content\":\"\\u0000\"}}",
			"a lone surrogate": `{"payload":{"content":"\ud800"}}`, "invalid UTF-8": "{\"payload\":{\"content\":\"\xff\"}}", "two": `{"payload":{"content":"x"}}{}`,
			"a large number": `{"payload":{"content":"x","n":9007199254740993}}`, "null": "null", "nothing": "",
		} {
			require.Equal(t, 400, ann.REST(t, "POST", base+"/events", body).Status, what)
		}
		require.Equal(t, 413, ann.REST(t, "POST", base+"/events", `{"payload":{"content":"`+strings.Repeat("x", 10<<20)+`"}}`).Status)
		require.Equal(t, 413, ann.REST(t, "POST", base+"/events", `{"payload":{"content":"`+strings.Repeat("x", 300<<10)+`"}}`).Status)
		for request, status := range map[string]int{
			"GET /": 404, "GET ": 404, "GET /secrets": 404, "DELETE /events": 405, "PUT /tasks": 405, "GET /events/../tasks": 404,
			"GET /events?limit=0": 400, "GET /events?limit=501": 400, "GET /events?since=now": 400, "GET /events?direction=up": 400,
			"GET /events/search?keyword=" + strings.Repeat("x", 300): 400, "GET /agents?cursor=active:x": 400, "GET /tasks?status=lost": 400,
		} {
			method, path, _ := strings.Cut(request, " ")
			answer := ann.REST(t, method, base+path, "")
			require.Equal(t, status, answer.Status, "%s: %s", request, answer.Body)
		}
		require.NotEmpty(t, ann.REST(t, "DELETE", base+"/events", "").Header.Get("Allow"))
		require.Equal(t, before, h.traces(t))
	})
}
