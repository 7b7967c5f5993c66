package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/internal/fault"
)

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
