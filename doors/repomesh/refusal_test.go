package repomesh

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"openintent/doors"
)

func TestRefusalsSayWhetherToTryAgain(t *testing.T) {
	for _, row := range []struct {
		action  string
		refusal doors.Refusal
		count   int
		code    string
		after   int64 // 0: null
	}{
		{"lock.acquire", doors.Refusal{Code: codes.AlreadyExists, Reason: "LEASE_HELD"}, 0, codeLock, 1000},
		{"lock.acquire", doors.Refusal{Code: codes.AlreadyExists, Reason: "LEASE_HELD"}, 4, codeLock, 1000},
		{"lock.acquire", doors.Refusal{Code: codes.AlreadyExists, Reason: "LEASE_HELD"}, 5, codeLock, 0},
		{"task.claim", doors.Refusal{Code: codes.AlreadyExists, Reason: "LEASE_HELD"}, 2, codeClaim, 2000},
		{"task.claim", doors.Refusal{Code: codes.FailedPrecondition, Reason: "TASK_NOT_READY"}, 3, codeClaim, 0},
		{"task.update", doors.Refusal{Code: codes.PermissionDenied, Reason: "TASK_NOT_ASSIGNED"}, 0, codeDenied, 0},
		{"event.log", doors.Refusal{Code: codes.InvalidArgument, Reason: "INVALID_FIELD"}, 0, codeInvalid, 0},
		{"event.log", doors.Refusal{Code: codes.Unavailable, Reason: "UNAVAILABLE"}, 0, codeAway, 1000},
		{"event.log", doors.Refusal{Code: codes.Unavailable, Reason: "UNAVAILABLE"}, 2, codeAway, 4000},
		{"event.log", doors.Refusal{Code: codes.Unavailable, Reason: "UNAVAILABLE"}, 3, codeAway, 0},
		{"event.log", doors.Refusal{Code: codes.FailedPrecondition, Reason: "CHANNEL_CLOSED"}, 0, "CHANNEL_CLOSED", 0},
	} {
		said := errorOf("ann", row.action, row.count, row.refusal).Payload
		require.Equal(t, row.code, said.ErrorCode)
		if row.after == 0 {
			require.Nil(t, said.RetryAfter, "%+v", row)
		} else {
			require.Equal(t, row.after, *said.RetryAfter, "%+v", row)
		}
	}
}
