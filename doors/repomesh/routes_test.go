package repomesh

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

func TestRoutesLeadToActions(t *testing.T) {
	for request, name := range map[string]string{
		"POST /events": "event.log", "GET /events": "event.list", "GET /events/inbox": "event.inbox", "GET /events/thread/m": "event.thread",
		"POST /locks/l/renew": "lock.renew", "POST /tasks/claim": "task.claim", "POST /tasks/t/claim": "task.claim", "PATCH /tasks/t": "task.update",
		"POST /agents/a%20b/heartbeat": "agent.heartbeat",
	} {
		method, path, _ := strings.Cut(request, " ")
		found, err := routeOf(httptest.NewRequest(method, Path+path, nil))
		require.NoError(t, err, request)
		require.Equal(t, name, found.action.name, request)
	}
	for request, reason := range map[string]string{
		"GET /": "ROUTE_NOT_FOUND", "GET ": "ROUTE_NOT_FOUND", "PATCH /tasks/": "ROUTE_NOT_FOUND", "PATCH /tasks/a/b": "ROUTE_NOT_FOUND",
		"DELETE /events": "METHOD_NOT_ALLOWED", "HEAD /agents": "METHOD_NOT_ALLOWED", "POST /locks/acquire/renew/x": "ROUTE_NOT_FOUND",
	} {
		method, path, _ := strings.Cut(request, " ")
		_, err := routeOf(httptest.NewRequest(method, Path+path, nil))
		require.Equal(t, reason, doors.RefusalOf(err).Reason, request)
	}
}

func TestArgumentsComeFromQueryPathAndBody(t *testing.T) {
	arguments := func(method, path, body string) string {
		request := httptest.NewRequest(method, Path+path, strings.NewReader(body))
		found, err := routeOf(request)
		require.NoError(t, err)
		given, err := found.arguments(request)
		if err != nil {
			return doors.RefusalOf(err).Message
		}
		return string(given)
	}
	require.JSONEq(t, `{"limit":5,"include_broadcast":false,"channel":"a b"}`, arguments("GET", "/events?limit=5&include_broadcast=false&channel=a%20b", ""))
	require.JSONEq(t, `{"task_id":"t","status":"blocked"}`, arguments("PATCH", "/tasks/t", `{"status":"blocked"}`))
	require.JSONEq(t, `{"lock_id":"l"}`, arguments("POST", "/locks/l/release", ""))
	require.JSONEq(t, `{"lock_id":"l"}`, arguments("POST", "/locks/l/release", `{"lock_id":"l"}`))
	require.Contains(t, arguments("POST", "/locks/l/release", `{"lock_id":"k"}`), "differs")
	require.Contains(t, arguments("POST", "/locks/l/release", `{"a":1,"a":2}`), "a")
	require.Contains(t, arguments("GET", "/events?limit=x", ""), "integer")
	require.Contains(t, arguments("GET", "/events?limit=1&limit=2", ""), "twice")
	require.Contains(t, arguments("GET", "/events?secret=1", ""), "secret")
}

// Whatever address and body somebody sends, there is a route for it, or none.
func FuzzRoutes(f *testing.F) {
	f.Add("POST", "/events", "", []byte(`{"payload":{}}`))
	f.Add("GET", "/events/thread/x", "limit=1", []byte(nil))
	f.Add("PATCH", "/tasks/%2f", "a=b&a=c", []byte(`[]`))
	f.Fuzz(func(t *testing.T, method, path, query string, body []byte) {
		request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(string(body)))
		request.Method, request.URL = method, &url.URL{Path: Path + path, RawQuery: query}
		found, err := routeOf(request)
		if err != nil {
			require.Contains(t, []string{"ROUTE_NOT_FOUND", "METHOD_NOT_ALLOWED"}, doors.RefusalOf(err).Reason)
			return
		}
		require.NotContains(t, found.name, "/")
		_, _ = found.arguments(request)
	})
}

func TestThePageHasEveryToolWithItsRoutes(t *testing.T) {
	page, err := os.ReadFile("../../docs/doors/repomesh.md")
	require.NoError(t, err)
	described := make(map[string]string)
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			described[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	for _, a := range catalog {
		require.Contains(t, described, a.name)
	}
	for _, r := range routes {
		written := "`" + r.method + " " + strings.Replace(r.path, "*", "{"+r.named+"}", 1) + "`"
		require.Contains(t, described[r.action.name], written)
	}
}
