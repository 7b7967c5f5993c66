package doors

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// statuses are the HTTP statuses of requests that a door itself does not let in.
var statuses = map[codes.Code]int{
	codes.InvalidArgument:   http.StatusBadRequest,
	codes.Unauthenticated:   http.StatusUnauthorized,
	codes.PermissionDenied:  http.StatusForbidden,
	codes.NotFound:          http.StatusNotFound,
	codes.ResourceExhausted: http.StatusTooManyRequests,
	codes.Unavailable:       http.StatusServiceUnavailable,
}

// HTTPStatus returns the HTTP status with which a door does not let a request in.
func (r Refusal) HTTPStatus() int {
	if status, known := statuses[r.Code]; known {
		return status
	}
	return http.StatusInternalServerError
}

// CodeRefused is the JSON-RPC code of what a door refuses.
const CodeRefused = -32000

// RefuseRPC answers a request that does not reach a protocol of JSON-RPC: with an HTTP status, and an error that has no id.
func RefuseRPC(w http.ResponseWriter, status int, refusal Refusal) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="openintent"`)
	}
	if refusal.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((refusal.RetryAfter+time.Second-1)/time.Second)))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{
			"code": CodeRefused, "message": refusal.Message, "data": map[string]string{"reason": refusal.Reason},
		},
	})
}
