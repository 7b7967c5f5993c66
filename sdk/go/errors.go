package openintent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errors.Is finds these sentinels in an error of the server: by its code, and by its reason where the reason is more
// specific.
var (
	ErrInvalidArgument    = errors.New("invalid argument")
	ErrUnauthenticated    = errors.New("unauthenticated")
	ErrPermissionDenied   = errors.New("permission denied")
	ErrNotFound           = errors.New("not found")
	ErrAlreadyExists      = errors.New("already exists")
	ErrFailedPrecondition = errors.New("failed precondition")
	ErrAborted            = errors.New("aborted")
	ErrResourceExhausted  = errors.New("resource exhausted")
	ErrUnavailable        = errors.New("unavailable")

	ErrMessageTimeout = errors.New("message timeout")
	ErrChannelClosed  = errors.New("channel closed")
	// ErrDeclined means that the one agent that was asked said no. Error.Metadata has its `note`, if it gave one. It may still answer, and
	// ResumeAsk finds the answer then.
	ErrDeclined = errors.New("declined")
	// ErrMessageDeleted means that the message was deleted; after an ask, that its request was withdrawn.
	ErrMessageDeleted   = errors.New("message deleted")
	ErrIntentEnded      = errors.New("intent ended")
	ErrMessageExpired   = errors.New("message expired")
	ErrChannelNotFound  = errors.New("channel not found")
	ErrMessageNotFound  = errors.New("message not found")
	ErrIntentNotFound   = errors.New("intent not found")
	ErrNotAMember       = errors.New("not a member")
	ErrTargetNotAMember = errors.New("target not a member")
	ErrSenderMismatch   = errors.New("sender mismatch")
	ErrChannelNameTaken = errors.New("channel name taken")
	// ErrClaimed means that others hold all claims on a message, or another process of the agent does.
	ErrClaimed = errors.New("claimed")
	// ErrAnswered means that a request takes no answer of this agent any more.
	ErrAnswered = errors.New("answered")
	// ErrClaimRequired means that an answer needs the fence of a claim.
	ErrClaimRequired = errors.New("claim required")
	// ErrClaimLost means that an agent does not hold the claim any more. It is also the cause for which the context of a lost
	// Claim ends.
	ErrClaimLost = errors.New("the claim is lost")
	// ErrPayload means that a payload cannot be sent, or does not have the form that a type asks for: a *PayloadError, or a
	// *RemoteError of an agent that says so.
	ErrPayload = errors.New("payload")
)

// codesOf maps the canonical codes to their names, which Error.Code contains.
var codesOf = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

var sentinelsByCode = map[string]error{
	"INVALID_ARGUMENT": ErrInvalidArgument, "UNAUTHENTICATED": ErrUnauthenticated, "PERMISSION_DENIED": ErrPermissionDenied,
	"NOT_FOUND": ErrNotFound, "ALREADY_EXISTS": ErrAlreadyExists, "FAILED_PRECONDITION": ErrFailedPrecondition,
	"ABORTED": ErrAborted, "RESOURCE_EXHAUSTED": ErrResourceExhausted, "UNAVAILABLE": ErrUnavailable,
}

var sentinelsByReason = map[string]error{
	reasonTimeout: ErrMessageTimeout, reasonClosed: ErrChannelClosed, reasonDeclined: ErrDeclined, reasonDeleted: ErrMessageDeleted,
	"INTENT_ENDED":    ErrIntentEnded,
	"MESSAGE_EXPIRED": ErrMessageExpired, "CHANNEL_NOT_FOUND": ErrChannelNotFound, "MESSAGE_NOT_FOUND": ErrMessageNotFound,
	"INTENT_NOT_FOUND": ErrIntentNotFound, "NOT_A_MEMBER": ErrNotAMember, "TARGET_NOT_A_MEMBER": ErrTargetNotAMember,
	"SENDER_MISMATCH": ErrSenderMismatch, "CHANNEL_NAME_TAKEN": ErrChannelNameTaken,
	"CLAIMED": ErrClaimed, "ANSWERED": ErrAnswered, "CLAIM_REQUIRED": ErrClaimRequired, "CLAIM_LOST": ErrClaimLost,
	reasonPayload: ErrPayload,
}

const (
	reasonTimeout     = "MESSAGE_TIMEOUT"
	reasonNobodyThere = "NOBODY_THERE"
	reasonClosed      = "CHANNEL_CLOSED"
	reasonDeclined    = "DECLINED"
	reasonDeleted     = "MESSAGE_DELETED"
	// causeWithdrawn is the cause with which a wait for responses ends because the request was deleted. The other causes are reasons, too.
	causeWithdrawn = "WITHDRAWN"
	// reasonPayload is the reason of a PayloadError; no server uses it.
	reasonPayload = "INVALID_PAYLOAD"
	// reasonHandlerFailed is the reason of a RemoteError; no server uses it.
	reasonHandlerFailed = "HANDLER_FAILED"
	// messageIDKey names the request's id in an error's metadata.
	messageIDKey = "message_id"
)

// Error is a refusal by the server.
type Error struct {
	// Code is the canonical gRPC name, such as NOT_FOUND.
	Code string
	// Reason is the stable word for what was wrong, such as CHANNEL_CLOSED; "" when there is none.
	Reason string
	// Message is a text for people.
	Message string
	// Metadata holds further facts, such as message_id, and the cause with which nobody answered or is there to answer.
	Metadata map[string]string
	// Violations are the wrong fields.
	Violations []Violation

	retryAfter time.Duration
	cause      error
	// brief is the text without what the last attempt failed with, for a log that has said that before; "" for others.
	brief string
	// unconnected is set when there was no connection, so that the server knows nothing of the call.
	unconnected bool
}

// Violation is a wrong field, and why it is wrong.
type Violation struct{ Field, Description string }

func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Code + ": " + e.Message
	}
	return e.Reason + ": " + e.Message
}

// Is reports whether the target is the sentinel for the error's reason or for its code.
func (e *Error) Is(target error) bool {
	return target != nil && (target == sentinelsByReason[e.Reason] || target == sentinelsByCode[e.Code])
}

// Unwrap returns the connection's error from which this one was made.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets status.FromError and status.Code find the code and the text.
func (e *Error) GRPCStatus() *status.Status {
	for code, name := range codesOf {
		if name == e.Code {
			return status.New(code, e.Message)
		}
	}
	return status.New(codes.Unknown, e.Message)
}

// MessageID returns the id of the request that the error is about; "" when there is none.
func (e *Error) MessageID() string { return e.Metadata[messageIDKey] }

// MessageTimeoutError means that nobody answered a question in time. Only the server says so: when it does not, the
// error is ErrUnavailable.
type MessageTimeoutError struct {
	Err *Error
	// MessageID is the id of the unanswered request; "" when it is not known. ResumeAsk takes it.
	MessageID string
}

func (e *MessageTimeoutError) Error() string { return e.Err.Error() }

// Is finds ErrMessageTimeout and context.DeadlineExceeded.
func (e *MessageTimeoutError) Is(target error) bool {
	return target == ErrMessageTimeout || target == context.DeadlineExceeded
}

// Unwrap returns the *Error.
func (e *MessageTimeoutError) Unwrap() error { return e.Err }

// RemoteError means that the handler of the asked agent failed.
type RemoteError struct {
	// Type is the name of the failure's type on the other side, and Message is its text.
	Type, Message string
	// Response is the message that carried the failure.
	Response *Message
}

func (e *RemoteError) Error() string {
	return fmt.Sprintf("%s failed: %s", e.Response.Sender, e.Message)
}

// Is finds ErrPayload when the other side found a payload that does not fit.
func (e *RemoteError) Is(target error) bool {
	return target == ErrPayload && e.Type == kindOf(&PayloadError{})
}

// PayloadError means that a payload does not have the form that a type asks for.
type PayloadError struct {
	// Agent sent the payload, with the message of this id. Both are "" for what a handler of this program returned.
	Agent, MessageID string
	// Problem says what does not fit.
	Problem string
}

func (e *PayloadError) Error() string {
	if e.Agent == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s (message %s from %s)", e.Problem, e.MessageID, e.Agent)
}

// Unwrap returns the error as an *Error with the code INVALID_ARGUMENT and the reason INVALID_PAYLOAD.
func (e *PayloadError) Unwrap() error {
	refused := invalidPayload(e.Problem)
	if refused.Message = e.Error(); e.MessageID != "" {
		refused.Metadata = map[string]string{messageIDKey: e.MessageID}
	}
	return refused
}

// Unwrap returns the failure as an *Error with the code UNKNOWN and the reason HANDLER_FAILED.
func (e *RemoteError) Unwrap() error {
	return &Error{Code: "UNKNOWN", Reason: reasonHandlerFailed, Message: e.Message,
		Metadata: map[string]string{messageIDKey: e.Response.CorrelationID}}
}

// FromError turns an error of a generated client into one of this package. It returns nil, and errors of this
// package, unchanged.
func FromError(err error) error {
	var known *Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return err
	}
	answered := status.Convert(err)
	if answered.Code() == codes.Canceled {
		return fmt.Errorf("%w: %s", context.Canceled, answered.Message())
	}
	e := &Error{Code: codesOf[answered.Code()], Message: plain(answered.Message()), cause: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Code = codesOf[codes.DeadlineExceeded]
	}
	for _, detail := range answered.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				e.Violations = append(e.Violations, Violation{violation.GetField(), violation.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.retryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	switch {
	case e.Reason == reasonKeyMissing:
		e.Message += " " + howToGiveAKey
	case e.Reason == reasonNobodyThere: // the server names the option as the contract does
		e.Message = strings.ReplaceAll(e.Message, "fail_fast", "FailFast")
	case e.Reason == reasonTimeout:
		return timeout(e)
	case e.Code == codesOf[codes.DeadlineExceeded]:
		e.cause = errors.Join(context.DeadlineExceeded, err)
	}
	return e
}

// timeout makes a MessageTimeoutError.
func timeout(e *Error) error { return &MessageTimeoutError{Err: e, MessageID: e.MessageID()} }

// plain returns the text of a failed connection without what gRPC puts around it.
func plain(text string) string {
	if _, within, found := strings.Cut(text, `desc = "`); found {
		text = strings.TrimPrefix(strings.TrimSuffix(within, `"`), "transport: ")
	}
	return text
}

// about adds the request's id to an error that lacks it.
func about(err error, messageID string) error {
	var e *Error
	if messageID == "" || !errors.As(err, &e) || e.MessageID() != "" {
		return err
	}
	if e.Metadata == nil {
		e.Metadata = make(map[string]string)
	}
	e.Metadata[messageIDKey] = messageID
	var late *MessageTimeoutError
	if errors.As(err, &late) {
		late.MessageID = messageID
	}
	return err
}
