package strangers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// attempt is one request over REST that must be refused.
type attempt struct {
	what string
	// call is the method and the path, with placeholders: "POST /v1/channels/{room}/messages".
	call, body string
	refused    refusal
	// agent is the caller; alice when empty. asOperator calls as the operator.
	agent      string
	asOperator bool
	// headers are pairs of names and values that the request carries.
	headers []string
}

// refusal is the refusal that an attempt must get.
type refusal struct {
	status       int
	code, reason string
	// field is the first bad field, for refusals that name fields.
	field string
	// member is a further member that the problem must have, such as message_id.
	member string
}

// These are refusals from the documented table.
var (
	unknownRoute = refusal{status: 404, code: "NOT_FOUND", reason: "ROUTE_NOT_FOUND"}
	wrongMethod  = refusal{status: 405, code: "UNIMPLEMENTED", reason: "METHOD_NOT_ALLOWED"}
	beyondLog    = refusal{status: 409, code: "FAILED_PRECONDITION", reason: "CURSOR_BEYOND_LOG", member: "last_position"}
	bodyTooLarge = refusal{status: 413, code: "RESOURCE_EXHAUSTED", reason: "BODY_TOO_LARGE"}
)

func badField(field string) refusal {
	return refusal{status: 400, code: "INVALID_ARGUMENT", reason: "INVALID_FIELD", field: field}
}

func invalid(reason string) refusal {
	return refusal{status: 400, code: "INVALID_ARGUMENT", reason: reason}
}

func unauthenticated(reason string) refusal {
	return refusal{status: 401, code: "UNAUTHENTICATED", reason: reason}
}

func denied(reason string) refusal {
	return refusal{status: 403, code: "PERMISSION_DENIED", reason: reason}
}

func notFound(reason string) refusal { return refusal{status: 404, code: "NOT_FOUND", reason: reason} }

func exists(reason string) refusal {
	return refusal{status: 409, code: "ALREADY_EXISTS", reason: reason}
}

func conflict(reason string) refusal {
	return refusal{status: 409, code: "FAILED_PRECONDITION", reason: reason}
}

// try makes all attempts, each as a subtest. Then it checks that nothing was written and that the server still works.
func (w *world) try(t *testing.T, attempts []attempt) {
	t.Helper()
	before := w.ledger(t)
	for i, a := range attempts {
		t.Run(fmt.Sprintf("%02d %s", i, a.what), func(t *testing.T) {
			caller := w.As("alice")
			switch {
			case a.asOperator:
				caller = w.Operator()
			case a.agent != "":
				caller = w.As(a.agent)
			}
			method, path, _ := strings.Cut(a.call, " ")
			answer := caller.REST(t, method, w.fill(path), w.fill(a.body), a.headers...)
			a.refused.check(t, answer)
		})
	}
	require.Equal(t, before, w.ledger(t), "a refused attempt was written")
	w.goesOn(t)
}

// goesOn makes a call that must succeed.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	require.Equal(t, 200, w.do(t, "alice", "GET", "/readyz", "").Status)
	require.Equal(t, 200, w.do(t, "bob", "GET", "/v1/channels/{room}/messages/{request}", "").Status)
}

// problem is the form of every failure over REST.
type problem struct {
	Type, Title, Detail, Code, Reason, Error, Message string
	Status                                            int
	Errors                                            []struct{ Field, Description string }
}

// check compares the whole problem with the documentation, and searches it for text that must not be in one.
func (r refusal) check(t *testing.T, answer harness.Answer) {
	t.Helper()
	body := string(answer.Body)
	require.Equal(t, r.status, answer.Status, body)
	require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	var p problem
	answer.Decode(t, &p)
	require.Equal(t, r.code, p.Code, body)
	require.Equal(t, r.reason, p.Reason, body)
	require.Equal(t, r.status, p.Status)
	require.Equal(t, http.StatusText(r.status), p.Title)
	require.Equal(t, strings.ToLower(r.reason), p.Error)
	require.Equal(t, "urn:openintent:error:"+p.Error, p.Type)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, p.Detail, p.Message)
	var members map[string]json.RawMessage
	answer.Decode(t, &members)
	require.JSONEq(t, "true", fmt.Sprint(members["errors"] != nil && members["errors"][0] == '['), body)
	if r.field != "" {
		require.NotEmpty(t, p.Errors, body)
		require.Equal(t, r.field, p.Errors[0].Field, body)
		require.NotEmpty(t, p.Errors[0].Description)
	}
	if r.member != "" {
		require.Contains(t, members, r.member, body)
	}
	leaksNothing(t, r.status, body)
}

// internals matches words that reveal the server's internals.
var internals = regexp.MustCompile(`(?i)\bselect\b|\binsert\b|sqlite|postgres|pgx|gorm|goroutine|\.go\b|panic|protobuf|` +
	`proto:|runtime|grpc|intent_no\b|channel_no\b|ordinal|` + secret)

// ids matches ids, which may spell any word by chance.
var ids = regexp.MustCompile(`\b[a-z]+_[0-9A-Z]{26}\b`)

// leaksNothing searches a refusal for text that no refusal may contain.
func leaksNothing(t *testing.T, status int, text string) {
	t.Helper()
	require.NotRegexp(t, internals, ids.ReplaceAllString(text, "an id"))
	require.Less(t, len(text), 8<<10, "a refusal repeats what was sent to it")
	if status == http.StatusConflict {
		require.NotContains(t, strings.ToLower(text), "lease", "existing clients take this for a conflict of leases")
	}
}

// replaceWord puts a value into a body at WORD.
func replaceWord(body, value string) string { return strings.ReplaceAll(body, "WORD", value) }
