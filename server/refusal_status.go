package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"openintent/internal/database"
	"openintent/internal/fault"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "openintent"

// errInternal is all that a client learns about a failure of the server.
var errInternal = fault.New(fault.Internal, "INTERNAL", "The server failed; the failure has been logged.")

// errDatabaseAway is the refusal while the database cannot be reached.
var errDatabaseAway = fault.New(fault.Unavailable, "DATABASE_UNAVAILABLE",
	"The database cannot be reached; try again in a moment.").After(time.Second)

// errOutcomeUnknown is the answer when the database was lost between a commit and its acknowledgement.
var errOutcomeUnknown = fault.New(fault.Unavailable, "OUTCOME_UNKNOWN",
	"The database was lost while the call was being stored, and it may be stored; look first, or try again with the same "+
		"Idempotency-Key.").After(time.Second)

// toStatus turns any error into the status that the client gets. A fault decides its own status; a lost database
// becomes UNAVAILABLE; a deadline and a cancellation keep their codes; a status from gRPC stays as it is. Anything
// else becomes INTERNAL with its text hidden. It returns nil for nil.
func toStatus(err error) *status.Status {
	if err == nil {
		return nil
	}
	refusal := fault.From(err)
	made, isStatus := status.FromError(err)
	switch {
	case refusal.Kind != fault.Internal:
		return statusOf(refusal)
	case database.IsCommitUnknown(err):
		return statusOf(errOutcomeUnknown)
	case database.IsUnavailable(err):
		return statusOf(errDatabaseAway)
	case errors.Is(err, context.DeadlineExceeded):
		return bareStatus(codes.DeadlineExceeded, "The call's deadline passed before it was done.")
	case errors.Is(err, context.Canceled):
		return bareStatus(codes.Canceled, "The call was cancelled by its client.")
	case isStatus && made.Code() != codes.Internal && made.Code() != codes.Unknown:
		return withReason(made)
	}
	return statusOf(errInternal)
}

// refusalForm returns a function that makes the status of one refused message in a stream of many. It logs failures
// here, because no call ends with them.
func refusalForm(logger *slog.Logger) func(error) *rpc.Status {
	return func(err error) *rpc.Status {
		outcome := toStatus(err)
		if level := levelOf(outcome); level > slog.LevelInfo {
			logger.Log(context.Background(), level, "a message of a stream was not stored",
				"code", codeName(outcome.Code()), "reason", reasonOf(outcome), "error", err)
		}
		return outcome.Proto()
	}
}

// invalidFields is the refusal of bad fields: its sentence describes the first one, its details describe all.
func invalidFields(fields []fault.Field) *fault.Fault {
	refusal := fault.BadField(fields[0].Path, "%s", fields[0].Description)
	if more := len(fields) - 1; more > 0 {
		refusal.Message = fmt.Sprintf("%s (and %d more)", strings.TrimSuffix(refusal.Message, "."), more)
	}
	refusal.Fields = fields
	return refusal
}

// statusOf writes a fault as a status with its details.
func statusOf(refusal *fault.Fault) *status.Status {
	class := errorClass{code: codes.Internal}
	for _, candidate := range errorClasses {
		if candidate.kind == refusal.Kind {
			class = candidate
		}
	}
	message := sentence(refusal.Message)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason: refusal.Reason, Domain: errorDomain, Metadata: refusal.Metadata,
	}}
	if len(refusal.Fields) > 0 {
		details = append(details, badRequest(refusal.Fields))
	}
	switch {
	case class.mark != "" && class.code == codes.ResourceExhausted:
		details = append(details, &errdetails.QuotaFailure{
			Violations: []*errdetails.QuotaFailure_Violation{{Subject: class.mark, Description: message}},
		})
	case class.mark != "":
		details = append(details, &errdetails.PreconditionFailure{
			Violations: []*errdetails.PreconditionFailure_Violation{{Type: class.mark, Description: message}},
		})
	}
	if refusal.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(refusal.RetryAfter)})
	}
	if refusal.Subject != nil {
		details = append(details, protoadapt.MessageV1Of(refusal.Subject))
	}
	return detailed(status.New(class.code, message), details...)
}

func badRequest(fields []fault.Field) *errdetails.BadRequest {
	violations := make([]*errdetails.BadRequest_FieldViolation, len(fields))
	for i, field := range fields {
		violations[i] = &errdetails.BadRequest_FieldViolation{
			Field: field.Path, Description: sentence(field.Description),
		}
	}
	return &errdetails.BadRequest{FieldViolations: violations}
}

// bareStatus is the status of an error that is no fault; its reason is the code's name.
func bareStatus(code codes.Code, message string) *status.Status {
	return withReason(status.New(code, message))
}

// withReason adds an ErrorInfo to a status that has none.
func withReason(made *status.Status) *status.Status {
	for _, detail := range made.Details() {
		if _, ok := detail.(*errdetails.ErrorInfo); ok {
			return made
		}
	}
	return detailed(made, &errdetails.ErrorInfo{Reason: codeName(made.Code()), Domain: errorDomain})
}

// detailed adds details. It fails only for text that is not UTF-8; the status then goes out without details.
func detailed(made *status.Status, details ...protoadapt.MessageV1) *status.Status {
	if with, err := made.WithDetails(details...); err == nil {
		return with
	}
	return made
}

func markOf(made *status.Status) string {
	for _, detail := range made.Details() {
		switch d := detail.(type) {
		case *errdetails.PreconditionFailure:
			for _, violation := range d.GetViolations() {
				return violation.GetType()
			}
		case *errdetails.QuotaFailure:
			for _, violation := range d.GetViolations() {
				return violation.GetSubject()
			}
		}
	}
	return ""
}

// sentence ends a text with a full stop, unless it already ends with punctuation.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// errorClass is what one kind of fault becomes on the wire.
type errorClass struct {
	kind fault.Kind
	code codes.Code
	http int
	// mark is the type of the PreconditionFailure or QuotaFailure detail. It distinguishes the kinds that share a
	// code, so that the HTTP status follows from the gRPC status alone, wherever that status was made.
	mark string
}

// errorClasses is the contract's error table. Among the rows with one code, the row without a mark is the code's
// default: it gives the HTTP status of a gRPC status that carries no mark.
var errorClasses = []errorClass{
	{kind: fault.Invalid, code: codes.InvalidArgument, http: 400},
	{kind: fault.Unauthenticated, code: codes.Unauthenticated, http: 401},
	{kind: fault.Denied, code: codes.PermissionDenied, http: 403},
	{kind: fault.NotFound, code: codes.NotFound, http: 404},
	{kind: fault.MethodNotAllowed, code: codes.Unimplemented, http: 405, mark: "METHOD_NOT_ALLOWED"},
	{kind: fault.TimedOut, code: codes.DeadlineExceeded, http: 408},
	{kind: fault.AlreadyExists, code: codes.AlreadyExists, http: 409},
	{kind: fault.Conflict, code: codes.FailedPrecondition, http: 409},
	{kind: fault.VersionMismatch, code: codes.Aborted, http: 409},
	{kind: fault.Gone, code: codes.FailedPrecondition, http: 410, mark: "GONE"},
	{kind: fault.PreconditionFailed, code: codes.FailedPrecondition, http: 412, mark: "PRECONDITION_FAILED"},
	{kind: fault.PreconditionRequired, code: codes.FailedPrecondition, http: 428, mark: "PRECONDITION_REQUIRED"},
	{kind: fault.TooLarge, code: codes.ResourceExhausted, http: 413},
	{kind: fault.Quota, code: codes.ResourceExhausted, http: 429, mark: "QUOTA"},
	{kind: fault.Unavailable, code: codes.Unavailable, http: 503},
	{kind: fault.Internal, code: codes.Internal, http: 500},
}

// otherStatuses are the HTTP statuses of codes that no fault has: these codes come from gRPC itself or from the
// client.
var otherStatuses = map[codes.Code]int{
	codes.Canceled:      499, // "client closed request"; nobody is there to read it
	codes.Unimplemented: 501,
	codes.OutOfRange:    400,
}

// httpStatus returns the HTTP status of a gRPC status.
func httpStatus(made *status.Status) int {
	for _, mark := range []string{markOf(made), ""} {
		for _, class := range errorClasses {
			if class.code == made.Code() && class.mark == mark {
				return class.http
			}
		}
	}
	if other, ok := otherStatuses[made.Code()]; ok {
		return other
	}
	return 500
}
