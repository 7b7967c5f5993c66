package server

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server/jsonform"
)

// problem is a failure as REST shows it (RFC 9457): one form for every failure, made from the gRPC status, so that
// both faces report the same facts.
type problem struct {
	status int
	body   []byte
	// retryAfter is in whole seconds; 0 when waiting does not help.
	retryAfter int
	// reason is the stable UPPER_SNAKE word.
	reason string
}

// numericMembers are the metadata that become numbers in JSON.
var numericMembers = []string{"current_version", "max_streams", "max_streams_per_key", "max_waits", "max_waits_per_key", "fence", "conversation_budget"}

func newProblem(made *status.Status) problem { return newProblemWithin("", made) }

// newProblemWithin does what newProblem does, for a request whose body is one of its fields: it names bad fields as
// the client wrote them, without that field's name.
func newProblemWithin(bodyField string, made *status.Status) problem {
	own := func(text string) string { return strings.TrimPrefix(text, bodyField+".") }
	message := own(made.Message())
	p := problem{status: httpStatus(made), reason: codeName(made.Code())}
	var violations []*errdetails.BadRequest_FieldViolation
	var metadata map[string]string
	var lease *openintentv1.Lease
	for _, detail := range made.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			p.reason, metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			violations = d.GetFieldViolations()
		case *errdetails.RetryInfo:
			p.retryAfter = int(math.Ceil(d.GetRetryDelay().AsDuration().Seconds()))
		case *openintentv1.Lease:
			lease = d
		}
	}
	if p.status == http.StatusServiceUnavailable && p.retryAfter == 0 {
		p.retryAfter = 1
	}
	word := strings.ToLower(p.reason)
	o := objectWriter{out: []byte{'{'}}
	o.text("type", "urn:openintent:error:"+word)
	o.text("title", title(p.status))
	o.raw("status", strconv.Itoa(p.status))
	o.text("detail", message)
	o.text("code", codeName(made.Code()))
	o.text("reason", p.reason)
	o.text("error", word)
	o.text("message", message)
	o.raw("errors", string(violationsJSON(violations, own)))
	if written, err := jsonform.Append(nil, lease); lease != nil && err == nil {
		o.raw("existing_lease", string(written)) // as clients of RFC-0003 look for it
	}
	o.metadata(metadata)
	p.body = append(o.out, '}')
	return p
}

func violationsJSON(violations []*errdetails.BadRequest_FieldViolation, named func(field string) string) []byte {
	out := []byte{'['}
	for i, violation := range violations {
		if i > 0 {
			out = append(out, ',')
		}
		o := objectWriter{out: append(out, '{')}
		o.text("field", named(violation.GetField()))
		o.text("description", violation.GetDescription())
		out = append(o.out, '}')
	}
	return append(out, ']')
}

// title returns the status in words.
func title(status int) string {
	if status == 499 {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

// bearerChallenge says how to prove who one is. The doors say the same (doors/refusal_http.go).
const bearerChallenge = `Bearer realm="openintent"`

// write answers with the problem. It removes headers that were set for an answer that did not come.
func (p problem) write(w http.ResponseWriter) {
	header := w.Header()
	for _, stale := range []string{"ETag", "Link", removedHeader, "Content-Length", "Trailer", "Transfer-Encoding"} {
		header.Del(stale)
	}
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", bearerChallenge)
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body)
}

// writeProblem answers a REST request with a failure.
func writeProblem(w http.ResponseWriter, made *status.Status) { newProblem(made).write(w) }

// objectWriter writes the members of one JSON object; the caller writes the brackets.
type objectWriter struct {
	out   []byte
	names []string
}

func (o *objectWriter) raw(name, value string) {
	if len(o.names) > 0 {
		o.out = append(o.out, ',')
	}
	o.names = append(o.names, name)
	o.out = append(jsonform.AppendString(o.out, name), ':')
	o.out = append(o.out, value...)
}

func (o *objectWriter) text(name, value string) {
	o.raw(name, string(jsonform.AppendString(nil, strings.ToValidUTF8(value, "�"))))
}

// metadata adds the members of ErrorInfo's metadata, sorted. It does not repeat a name that is already there.
func (o *objectWriter) metadata(metadata map[string]string) {
	names := make([]string, 0, len(metadata))
	for name := range metadata {
		if !slices.Contains(o.names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		value := metadata[name]
		if _, err := strconv.ParseInt(value, 10, 64); err == nil && slices.Contains(numericMembers, name) {
			o.raw(name, value)
			continue
		}
		o.text(name, value)
	}
}
