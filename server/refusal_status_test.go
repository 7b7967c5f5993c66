package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"openintent/doors"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/keys"
)

func TestFailuresOfServices(t *testing.T) {
	r := newREST(t)
	for _, test := range []struct {
		err            error
		status         int
		code, reason   string
		retryAfter     string
		message, extra string
	}{
		{fault.New(fault.Invalid, "BAD", "Bad"), 400, "INVALID_ARGUMENT", "BAD", "", "Bad.", ""},
		{fault.New(fault.Denied, "FORBIDDEN", "No.").With("required_permission", "read"), 403, "PERMISSION_DENIED", "FORBIDDEN", "", "No.",
			`"required_permission":"read"`},
		{fault.New(fault.NotFound, "ABSENT", "No."), 404, "NOT_FOUND", "ABSENT", "", "No.", ""},
		{fault.New(fault.TimedOut, "MESSAGE_TIMEOUT", "Late.").With("message_id", "m1"), 408, "DEADLINE_EXCEEDED", "MESSAGE_TIMEOUT", "", "Late.",
			`"error":"message_timeout"`},
		{fault.New(fault.AlreadyExists, "NAME_TAKEN", "Taken."), 409, "ALREADY_EXISTS", "NAME_TAKEN", "", "Taken.", ""},
		{fault.New(fault.Conflict, "CHANNEL_CLOSED", "Closed.").With("status", "x"), 409, "FAILED_PRECONDITION", "CHANNEL_CLOSED", "", "Closed.",
			`"status":409`},
		{fault.New(fault.Gone, "AGENT_GONE", "Gone."), 410, "FAILED_PRECONDITION", "AGENT_GONE", "", "Gone.", ""},
		{fault.New(fault.PreconditionFailed, "SCOPE", "No."), 412, "FAILED_PRECONDITION", "SCOPE", "", "No.", ""},
		{fault.New(fault.PreconditionRequired, "IF_MATCH", "Say."), 428, "FAILED_PRECONDITION", "IF_MATCH", "", "Say.", ""},
		{fault.New(fault.TooLarge, "PAYLOAD_TOO_LARGE", "Big."), 413, "RESOURCE_EXHAUSTED", "PAYLOAD_TOO_LARGE", "", "Big.", ""},
		{fault.New(fault.Quota, "QUOTA", "Much.").After(1500 * time.Millisecond), 429, "RESOURCE_EXHAUSTED", "QUOTA", "2", "Much.", ""},
		{fault.New(fault.Unavailable, "QUEUE_FULL", "Full."), 503, "UNAVAILABLE", "QUEUE_FULL", "1", "Full.", ""},
		{fmt.Errorf("wrapped: %w", fault.New(fault.Conflict, "ENDED", "Ended.").Because(errors.New("hidden"))), 409, "FAILED_PRECONDITION",
			"ENDED", "", "Ended.", ""},
		{errors.New("SELECT secret"), 500, "INTERNAL", "INTERNAL", "", "The server failed; the failure has been logged.", ""},
		{fault.New(fault.Internal, "ODD", "secret"), 500, "INTERNAL", "INTERNAL", "", "The server failed; the failure has been logged.", ""},
		{context.DeadlineExceeded, 408, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "", "The call's deadline passed before it was done.", ""},
	} {
		r.fails(getIntent, test.err)
		got := r.call(t, "GET", "/v1/intents/i", "")
		problem := problemOf(t, got, test.status)
		require.Equal(t, test.code, problem["code"])
		require.Equal(t, test.reason, problem["reason"])
		require.Equal(t, test.message, problem["message"])
		require.Equal(t, test.retryAfter, got.header.Get("Retry-After"))
		require.Contains(t, got.body, test.extra)
		require.NotContains(t, got.body, "secret")
		require.NotContains(t, got.body, "hidden")
		require.NotEmpty(t, got.header.Get("X-Request-Id"))
		require.Empty(t, got.header.Get("ETag"))
	}
}

func TestAMethodWithoutAnImplementation(t *testing.T) {
	r := newREST(t)
	problem := problemOf(t, r.call(t, "GET", "/v1/intents/i", ""), 501)
	require.Equal(t, "UNIMPLEMENTED", problem["reason"])
}

func TestPanicsAreProblems(t *testing.T) {
	r := newREST(t)
	r.does(getIntent, func(context.Context, proto.Message) (proto.Message, error) { panic("secret") })
	require.NotContains(t, fmt.Sprint(problemOf(t, r.call(t, "GET", "/v1/intents/i", ""), 500)), "secret")

	// This panic is in the gateway itself, where no interceptor catches it.
	g := &gateway{options: gatewayOptions{Logger: newLogTo(t, r.log)}, open: map[string]http.Handler{"/x": nil}}
	recorder := httptest.NewRecorder()
	g.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
	require.Equal(t, 500, recorder.Code)
	require.Equal(t, "application/problem+json", recorder.Header().Get("Content-Type"))
	require.Contains(t, r.log.String(), "a REST request panicked")
	require.Contains(t, r.log.String(), "gateway.go")

	begun := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("half")); panic("late") }
	g.open["/x"] = http.HandlerFunc(begun)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
	}, "an answer that has begun can only be cut off")
}

func TestErrorClassesCoverEveryKind(t *testing.T) {
	for kind := fault.Internal; kind <= fault.MethodNotAllowed; kind++ {
		seen := 0
		for _, class := range errorClasses {
			if class.kind == kind {
				seen++
				refusal := statusOf(fault.New(kind, "R", "M"))
				require.Equal(t, class.http, httpStatus(refusal))
				require.Equal(t, class.http, doors.RefusalOf(refusal.Err()).HTTPStatus(), "doors answer as the REST face does")
			}
		}
		require.Equal(t, 1, seen, "kind %d", kind)
	}
}

func TestErrorsThatAreNoFaults(t *testing.T) {
	require.Nil(t, toStatus(nil))
	away := toStatus(errDatabaseAway)
	require.Equal(t, 503, httpStatus(away))
	require.Equal(t, 1, newProblem(away).retryAfter)
	require.Equal(t, 499, httpStatus(toStatus(fmt.Errorf("x: %w", context.Canceled))))
	for code, expected := range otherStatuses {
		require.Equal(t, expected, doors.RefusalOf(status.Error(code, "x")).HTTPStatus())
	}
	require.False(t, database.IsUnavailable(errors.New("x")))
}

// A call is told apart whether nothing of it is stored or all of it may be.
func TestErrorsOfALostDatabase(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var faults databasetest.CommitFaults
		db := databasetest.Open(t, database.Config{URL: url, Hooks: faults.Hooks()})
		store := func() string { return reasonOfError(t, toStatus(db.Write(t.Context(), keys.Probe)).Err()) }
		faults.FailBefore(1)
		require.Equal(t, "DATABASE_UNAVAILABLE", store())
		faults.FailAfter(1)
		require.Equal(t, "OUTCOME_UNKNOWN", store())
	})
}

// Bounds of the same kind are numbers for clients of REST, whichever of them was reached.
func TestBoundsAreNumbers(t *testing.T) {
	limits := limitsOf(2, 3)
	for refusal, want := range map[*fault.Fault]string{
		limits.streams.ofCaller: `"max_streams":2`, limits.streams.ofKey: `"max_streams_per_key":3`,
		limits.waits.ofCaller: `"max_waits":2`, limits.waits.ofKey: `"max_waits_per_key":3`,
	} {
		require.Contains(t, string(newProblem(statusOf(refusal)).body), want)
	}
}

func TestInvalidFieldsNamesTheFirstAndCountsTheRest(t *testing.T) {
	one := invalidFields([]fault.Field{{Path: "a", Description: "is 100% wrong."}})
	require.Equal(t, "a: is 100% wrong.", one.Message)
	many := invalidFields([]fault.Field{{Path: "a", Description: "is wrong."}, {Path: "b", Description: "too"}, {Path: "c", Description: "too"}})
	require.Equal(t, "a: is wrong (and 2 more)", many.Message)
	require.Len(t, many.Fields, 3)
}
