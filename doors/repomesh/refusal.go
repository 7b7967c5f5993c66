package repomesh

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"openintent/doors"
)

// refusedEvent is a refusal in the protocol's form.
type refusedEvent struct {
	Type     string         `json:"type"`
	Severity string         `json:"severity"`
	Payload  refusedPayload `json:"payload"`
}

// refusedPayload says what was refused, why, and whether another try helps.
type refusedPayload struct {
	// From is the agent whose action was refused, or null if nobody knows it.
	From           *string `json:"from"`
	OriginalAction *string `json:"original_action"`
	// ErrorCode is the protocol's word, where it has one, and Reason the contract's.
	ErrorCode string `json:"error_code"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	// RetryAfter is null when another try does not help, or when there were enough of them.
	RetryAfter *int64            `json:"retry_after_ms"`
	RetryCount int               `json:"retry_count"`
	Details    map[string]string `json:"details,omitempty"`
}

// The protocol's words for refusals.
const (
	codeLock    = "LOCK_CONFLICT"
	codeClaim   = "TASK_CLAIM_CONFLICT"
	codeInvalid = "INVALID_PAYLOAD"
	codeDenied  = "PERMISSION_DENIED"
	codeAway    = "NETWORK_TIMEOUT"
)

// retries says after how many milliseconds to try again, and how often. A doubling wait doubles with each try.
var retries = map[string]struct {
	after   int64
	doubles bool
	most    int
}{
	codeLock:  {1_000, false, 5},
	codeClaim: {2_000, false, 3},
	codeAway:  {1_000, true, 3},
}

// errorOf puts a refusal into the protocol's form. count is how often the caller has tried again already.
func errorOf(from, action string, count int, refusal doors.Refusal) refusedEvent {
	payload := refusedPayload{
		From: given(from), OriginalAction: given(action), ErrorCode: codeOf(action, refusal), Reason: refusal.Reason,
		Message: refusal.Message, RetryCount: count, Details: refusal.Facts,
	}
	if again, known := retries[payload.ErrorCode]; known {
		if count < again.most {
			wait := again.after
			if again.doubles {
				wait <<= count
			}
			payload.RetryAfter = &wait
		}
	} else if refusal.RetryAfter > 0 {
		payload.RetryAfter = new(refusal.RetryAfter.Milliseconds())
	}
	return refusedEvent{Type: "agent.error", Severity: "error", Payload: payload}
}

// codeOf returns the protocol's word for a refusal, and the contract's reason where the protocol has none.
func codeOf(action string, refusal doors.Refusal) string {
	switch refusal.Reason {
	case "LEASE_HELD":
		if action == "task.claim" {
			return codeClaim
		}
		return codeLock
	case "TASK_NOT_READY", "TASK_NOT_ASSIGNED":
		if action == "task.claim" {
			return codeClaim
		}
	}
	switch refusal.Code {
	case codes.InvalidArgument:
		return codeInvalid
	case codes.PermissionDenied, codes.Unauthenticated:
		return codeDenied
	case codes.NotFound:
		return "NOT_FOUND"
	case codes.Unavailable, codes.DeadlineExceeded:
		return codeAway
	}
	return refusal.Reason
}

// given returns a text, or nil for none.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// retriesIn returns how often a caller says that it has tried again, and 0 if it does not say so properly.
func retriesIn(given json.RawMessage) int {
	var said struct {
		Count int `json:"retry_count"`
	}
	if json.Unmarshal(given, &said) != nil || said.Count < 0 || said.Count > 1_000 {
		return 0
	}
	return said.Count
}

// refuse writes a refusal.
func refuse(w http.ResponseWriter, status int, said refusedEvent, refusal doors.Refusal) {
	refusal.RetryAfter = 0
	if said.Payload.RetryAfter != nil { // the protocol has its own times for some
		refusal.RetryAfter = time.Duration(*said.Payload.RetryAfter) * time.Millisecond
	}
	refusal.Announce(w.Header(), status)
	_ = write(w, status, said) // texts and numbers always have a form in JSON
}

// write writes an answer. An answer that has no form in JSON is an error, and nothing is written.
func write(w http.ResponseWriter, status int, answer any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w)
	return nil
}
