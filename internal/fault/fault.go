package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"
)

// Kind sorts refusals by what the caller can do about them.
type Kind uint8

// The kinds, in the order of the contract's error table.
const (
	// Internal is a failure of the server itself; its message is never shown.
	Internal Kind = iota
	// Invalid is bad input, an unknown field or an illegal transition.
	Invalid
	// Unauthenticated means that the call had no key or an unknown one.
	Unauthenticated
	// Denied means that the caller is known but not allowed.
	Denied
	// NotFound means that something does not exist, or that the caller may not see it.
	NotFound
	// TimedOut means that a wait ran out.
	TimedOut
	// AlreadyExists is a duplicate name or an idempotency clash.
	AlreadyExists
	// Conflict is a state that forbids the call: a closed channel, an ended intent, an expired message.
	Conflict
	// VersionMismatch means that an optimistic lock failed; the metadata carries current_version. It also means that what the call
	// names was replaced meanwhile.
	VersionMismatch
	// Gone means that something was decided already, or that an agent has left.
	Gone
	// PreconditionFailed means that a precondition in the request is not met.
	PreconditionFailed
	// PreconditionRequired means that the request needs an If-Match and has none.
	PreconditionRequired
	// TooLarge means that a body, or a payload with its metadata, is larger than allowed.
	TooLarge
	// Quota means that the caller has reached a rate limit or a count limit.
	Quota
	// Unavailable is a passing failure; trying again later is right.
	Unavailable
	// MethodNotAllowed is a wrong method on a known route.
	MethodNotAllowed
)

// Field is one violation of a bound or rule in a named field of the request.
type Field struct {
	// Path is the field's name as the client wrote it, for example "options.ttl_seconds".
	Path string
	// Description says what was wrong and what would be right.
	Description string
}

// Fault is a refusal or a failure; the package comment says what its public parts may contain.
type Fault struct {
	Kind Kind
	// Reason is a stable UPPER_SNAKE word that clients branch on.
	Reason string
	// Message is one sentence: what was wrong and what would be right.
	Message string
	// Fields names each bad field of the request, if the fault is about fields.
	Fields []Field
	// Metadata holds further public facts, such as message_id or current_version.
	Metadata map[string]string
	// Subject is what the refusal is about, as the contract's message; nil for most. The caller may see it.
	Subject proto.Message
	// RetryAfter is how long to wait before trying again; zero when waiting does not help.
	RetryAfter time.Duration

	cause error
}

// New makes a fault; the message is formatted as by fmt.Sprintf when arguments are given.
func New(kind Kind, reason, message string, args ...any) *Fault {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	return &Fault{Kind: kind, Reason: reason, Message: message}
}

// BadField makes the usual refusal of one bad field of a request.
func BadField(path, description string, args ...any) *Fault {
	if len(args) > 0 {
		description = fmt.Sprintf(description, args...)
	}
	return &Fault{
		Kind:    Invalid,
		Reason:  "INVALID_FIELD",
		Message: fmt.Sprintf("%s: %s", path, description),
		Fields:  []Field{{Path: path, Description: description}},
	}
}

// LargeField makes the usual refusal of one field of a request that has more than so many bytes.
func LargeField(path string, most int) *Fault {
	description := fmt.Sprintf("has more than %d bytes, the most that it may have; send less.", most)
	return &Fault{
		Kind:    TooLarge,
		Reason:  "TOO_LARGE",
		Message: fmt.Sprintf("%s: %s", path, description),
		Fields:  []Field{{Path: path, Description: description}},
	}
}

// Error returns the public message with the cause, for logs. Clients get Message alone.
func (f *Fault) Error() string {
	if f.cause != nil {
		return f.Reason + ": " + f.Message + ": " + f.cause.Error()
	}
	return f.Reason + ": " + f.Message
}

// Unwrap returns the hidden cause.
func (f *Fault) Unwrap() error { return f.cause }

// Is matches faults by reason, so that a fault with metadata still matches the sentinel it was made from.
func (f *Fault) Is(target error) bool {
	other, ok := target.(*Fault)
	return ok && other.Reason == f.Reason
}

// Because returns a copy that carries a hidden cause.
func (f *Fault) Because(cause error) *Fault {
	copied := *f
	copied.cause = cause
	return &copied
}

// With returns a copy with one more public fact.
func (f *Fault) With(key, value string) *Fault {
	copied := *f
	copied.Metadata = maps.Clone(f.Metadata)
	if copied.Metadata == nil {
		copied.Metadata = make(map[string]string, 1)
	}
	copied.Metadata[key] = value
	return &copied
}

// About returns a copy that shows the caller what it is about.
func (f *Fault) About(subject proto.Message) *Fault {
	copied := *f
	copied.Subject = subject
	return &copied
}

// After returns a copy that tells the caller to try again after the given time.
func (f *Fault) After(wait time.Duration) *Fault {
	copied := *f
	copied.RetryAfter = wait
	return &copied
}

// From finds the fault in an error's chain. An error without one becomes Internal, and its text stays hidden.
func From(err error) *Fault {
	var found *Fault
	if errors.As(err, &found) {
		return found
	}
	return New(Internal, "INTERNAL", "The server failed; the failure has been logged.").Because(err)
}
