package doors

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// statuses are the HTTP statuses of refusals, as the REST face has them. Of refusals with a mark, the mark decides.
var (
	statuses = map[codes.Code]int{
		codes.InvalidArgument:    http.StatusBadRequest,
		codes.OutOfRange:         http.StatusBadRequest,
		codes.Unauthenticated:    http.StatusUnauthorized,
		codes.PermissionDenied:   http.StatusForbidden,
		codes.NotFound:           http.StatusNotFound,
		codes.DeadlineExceeded:   http.StatusRequestTimeout,
		codes.AlreadyExists:      http.StatusConflict,
		codes.FailedPrecondition: http.StatusConflict,
		codes.Aborted:            http.StatusConflict,
		codes.ResourceExhausted:  http.StatusRequestEntityTooLarge,
		codes.Canceled:           499, // nobody is there to read it
		codes.Unimplemented:      http.StatusNotImplemented,
		codes.Unavailable:        http.StatusServiceUnavailable,
	}
	statusesOfMarks = map[string]int{
		"METHOD_NOT_ALLOWED":    http.StatusMethodNotAllowed,
		"GONE":                  http.StatusGone,
		"PRECONDITION_FAILED":   http.StatusPreconditionFailed,
		"PRECONDITION_REQUIRED": http.StatusPreconditionRequired,
		"QUOTA":                 http.StatusTooManyRequests,
	}
)

// HTTPStatus returns the HTTP status of the refusal.
func (r Refusal) HTTPStatus() int {
	if status, known := statusesOfMarks[r.mark]; known {
		return status
	}
	if status, known := statuses[r.Code]; known {
		return status
	}
	return http.StatusInternalServerError
}

// Announce writes what an HTTP response says about the refusal in its headers: how to prove who one is, which methods there are, and when to
// try again. A body with the refusal follows, which nobody may keep.
func (r Refusal) Announce(header http.Header, status int) {
	header.Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="openintent"`)
	}
	if allowed := r.Facts["allow"]; allowed != "" {
		header.Set("Allow", allowed)
	}
	if r.RetryAfter > 0 {
		header.Set("Retry-After", strconv.FormatInt(int64((r.RetryAfter+time.Second-1)/time.Second), 10))
	}
}

// CodeRefused is the JSON-RPC code of what a door refuses.
const CodeRefused = -32000

// RefuseRPC answers a request that does not reach a protocol of JSON-RPC: with an HTTP status, and an error that has no id.
func RefuseRPC(w http.ResponseWriter, status int, refusal Refusal) {
	w.Header().Set("Content-Type", "application/json")
	refusal.Announce(w.Header(), status)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{
			"code": CodeRefused, "message": refusal.Message, "data": map[string]string{"reason": refusal.Reason},
		},
	})
}
