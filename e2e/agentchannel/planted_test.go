package agentchannel

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"openintent/e2e/harness"
)

// A refusal names the part of the request that is wrong: a member of the body, a parameter, a header, or the id in the path. The tests of
// the profile for MCP plant each argument of each tool.
func TestRefusalsNameThePartThatIsWrong(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Log")
		long, large, zero := strings.Repeat("x", 300), strings.Repeat("x", 300_000), "a%00b"
		for _, row := range []struct {
			method, path, body, field string
			headers                   []string
		}{
			{"GET", "/" + zero, "", "id", nil},
			{"GET", "/" + zero + "/spec", "", "id", nil},
			{"GET", "/" + zero + "/events", "", "id", nil},
			{"POST", "/" + zero + "/event", `{"kind":"log"}`, "id", nil},
			{"POST", "/" + zero + "/close", "", "id", nil},
			{"POST", "/" + zero + "/invite", "{}", "id", nil},
			{"GET", "?cursor=" + zero, "", "cursor", nil},
			{"GET", "?include_closed=" + zero, "", "include_closed", nil},
			{"GET", "/" + id + "?format=" + zero, "", "format", nil},
			{"GET", "/" + id + "/events?kind=" + zero, "", "kind", nil},
			{"GET", "/" + id + "/events?kind=" + long, "", "kind", nil},
			{"GET", "/" + id + "/events?after=" + zero, "", "after", nil},
			{"GET", "/" + id + "/events?after=" + long, "", "after", nil},
			{"GET", "/" + id + "/events?after=nothing", "", "after", nil},
			{"GET", "/" + id + "/events?limit=" + zero, "", "limit", nil},
			{"POST", "", `{"title":"a\u0000"}`, "title", nil},
			{"POST", "", `{"title":"` + large + `"}`, "title", nil},
			{"POST", "", `{"title":"x","intent_id":"a\u0000"}`, "intent_id", nil},
			{"POST", "", `{"title":"x","open":1}`, "open", nil},
			{"POST", "/" + id + "/event", `{"kind":"a\u0000"}`, "kind", nil},
			{"POST", "/" + id + "/event", `{"kind":"a\nb"}`, "kind", nil},
			{"POST", "/" + id + "/event", `{"kind":"` + large + `"}`, "kind", nil},
			{"POST", "/" + id + "/event", `{"kind":"log","author":"a\u0000"}`, "author", nil},
			{"POST", "/" + id + "/event", `{"kind":"log","payload":"a\u0000"}`, "payload", nil},
			{"POST", "/" + id + "/event", `{"kind":"log","payload":{"a":"\u0000"}}`, "payload", nil},
			{"POST", "/" + id + "/event", `{"kind":"log","payload":"` + large + `"}`, "payload", nil},
			{"POST", "/" + id + "/event", `{"kind":"log"}`, "Idempotency-Key", []string{"Idempotency-Key", long}},
			{"POST", "/" + id + "/event", `{"kind":"spec","payload":{}}`, "If-Match", []string{"If-Match", `"` + long + `"`}},
			{"POST", "/" + id + "/invite", `{"agent":"a\u0000"}`, "agent", nil},
			{"POST", "/" + id + "/invite", `{"agent":"bob"}`, "agent", nil},
			{"POST", "/" + id + "/invite", `{"agent":"guest-` + long + `"}`, "agent", nil},
			{"POST", "/" + id + "/invite", `{"label":"a\u0000"}`, "label", nil},
			{"POST", "/" + id + "/invite", `{"label":"` + long + `"}`, "label", nil},
			{"POST", "/" + id + "/invite", `{"expires_s":"x"}`, "expires_s", nil},
			{"POST", "/" + id + "/invite", `{"expires_s":0.001}`, "expires_s", nil},
		} {
			what := fmt.Sprintf("%s %.100s %.100s %.30v", row.method, row.path, row.body, row.headers)
			answer := ann.REST(t, row.method, root+row.path, row.body, row.headers...)
			var said struct{ Detail string }
			answer.Decode(t, &said)
			assert.Contains(t, []int{400, 413}, answer.Status, "%s: %.300s", what, answer.Body)
			assert.Regexp(t, `^`+regexp.QuoteMeta(row.field)+`[:.\[]`, said.Detail, what)
		}
	})
}
