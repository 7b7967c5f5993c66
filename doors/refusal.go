package doors

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/internal/fault"
)

// Refusal is why something was not done, in the words of the contract. A door puts it into its protocol's form.
type Refusal struct {
	// Code is the canonical code.
	Code codes.Code
	// Reason is the stable UPPER_SNAKE word.
	Reason string
	// Message is one sentence: what was wrong and what would be right.
	Message string
	// Facts are further public facts, such as message_id.
	Facts map[string]string
	// RetryAfter is how long to wait before another try; zero when waiting does not help.
	RetryAfter time.Duration
	// mark tells refusals of one code apart that have different HTTP statuses. It is a key of statusesOfMarks, or empty.
	mark string
}

// kindsOfFaults are the codes and marks of what doors themselves refuse.
var kindsOfFaults = map[fault.Kind]struct {
	code codes.Code
	mark string
}{
	fault.Invalid:            {code: codes.InvalidArgument},
	fault.Denied:             {code: codes.PermissionDenied},
	fault.NotFound:           {code: codes.NotFound},
	fault.Conflict:           {code: codes.FailedPrecondition},
	fault.PreconditionFailed: {codes.FailedPrecondition, "PRECONDITION_FAILED"},
	fault.MethodNotAllowed:   {codes.Unimplemented, "METHOD_NOT_ALLOWED"},
	fault.Quota:              {codes.ResourceExhausted, "QUOTA"},
}

// RefusalOf returns the refusal in an error of a call, or in a door's own fault. Anything else is a failure of the server, of
// which nothing is told.
func RefusalOf(err error) Refusal {
	var own *fault.Fault
	if errors.As(err, &own) {
		kind, known := kindsOfFaults[own.Kind]
		if !known {
			return internal
		}
		return Refusal{kind.code, own.Reason, own.Message, own.Metadata, own.RetryAfter, kind.mark}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = status.FromContextError(err).Err()
	}
	made, isStatus := status.FromError(err)
	if !isStatus || made.Code() == codes.Unknown || made.Code() == codes.Internal {
		return internal
	}
	refusal := Refusal{Code: made.Code(), Reason: reasonOfCode(made.Code()), Message: made.Message()}
	for _, detail := range made.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			refusal.Reason, refusal.Facts = d.GetReason(), d.GetMetadata()
		case *errdetails.RetryInfo:
			refusal.RetryAfter = d.GetRetryDelay().AsDuration()
		case *errdetails.PreconditionFailure:
			for _, violation := range d.GetViolations() {
				refusal.mark = violation.GetType()
			}
		case *errdetails.QuotaFailure:
			for _, violation := range d.GetViolations() {
				refusal.mark = violation.GetSubject()
			}
		}
	}
	return refusal
}

// OwnFailure reports whether an error is a failure that only the door knows of: no refusal, and none of a call, which the server has logged.
func OwnFailure(err error) bool {
	var own *fault.Fault
	if errors.As(err, &own) {
		_, known := kindsOfFaults[own.Kind]
		return !known
	}
	_, isStatus := status.FromError(err)
	return err != nil && !isStatus && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// internal is all that a caller learns about a failure of the server.
var internal = Refusal{Code: codes.Internal, Reason: "INTERNAL", Message: "The server failed; the failure has been logged."}

// reasonOfCode names a refusal that brought no reason, such as that of a connection that was lost.
func reasonOfCode(code codes.Code) string {
	switch code {
	case codes.Unavailable:
		return "UNAVAILABLE"
	case codes.Canceled:
		return "CANCELLED"
	case codes.DeadlineExceeded:
		return "DEADLINE_EXCEEDED"
	case codes.Unimplemented:
		return "UNIMPLEMENTED"
	}
	return "REFUSED"
}
