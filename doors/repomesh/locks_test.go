package repomesh

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// locked is a mesh with leases, on pages of two, and with tasks that anybody but ann may claim.
type locked struct {
	openintentv1.LeaseServiceClient
	openintentv1.TaskServiceClient
	leases             []*openintentv1.Lease
	renewed, mismatch  int
	status             openintentv1.TaskStatus
	changes            []*openintentv1.UpdateTaskRequest
	taken              bool
	pageOfLeases, asks int
}

func (l *locked) AcquireLease(_ context.Context, r *openintentv1.AcquireLeaseRequest, _ ...grpc.CallOption) (*openintentv1.Lease, error) {
	for _, one := range l.leases {
		if one.GetScope() == r.GetScope() {
			return nil, fault.New(fault.Conflict, "LEASE_HELD", "Somebody has it.").With("agent_id", one.GetAgentId()).With("lease_id", one.GetId())
		}
	}
	made := &openintentv1.Lease{Id: fmt.Sprint("lease-", r.GetScope()), Scope: r.GetScope(), AgentId: "ann"}
	l.leases = append(l.leases, made)
	return made, nil
}

func (l *locked) RenewLease(_ context.Context, r *openintentv1.RenewLeaseRequest, _ ...grpc.CallOption) (*openintentv1.Lease, error) {
	l.renewed++
	return &openintentv1.Lease{Id: r.GetLeaseId(), AgentId: "ann"}, nil
}

func (l *locked) ReleaseLease(
	_ context.Context, r *openintentv1.ReleaseLeaseRequest, _ ...grpc.CallOption,
) (*openintentv1.ReleaseLeaseResponse, error) {
	before := len(l.leases)
	l.leases = slices.DeleteFunc(slices.Clone(l.leases), func(one *openintentv1.Lease) bool { return one.GetId() == r.GetLeaseId() })
	if len(l.leases) == before {
		return nil, fault.New(fault.NotFound, "LEASE_NOT_FOUND", "It has ended.")
	}
	return &openintentv1.ReleaseLeaseResponse{}, nil
}

// ListLeases lists by place, so what ends meanwhile moves nothing.
func (l *locked) ListLeases(_ context.Context, r *openintentv1.ListLeasesRequest, _ ...grpc.CallOption) (*openintentv1.ListLeasesResponse, error) {
	l.asks++
	page := &openintentv1.ListLeasesResponse{}
	for _, one := range l.leases {
		if one.GetFence() <= fenceOf(r.GetCursor()) {
			continue
		}
		if len(page.Leases) == l.pageOfLeases {
			page.NextCursor = new(strconv.FormatInt(page.Leases[l.pageOfLeases-1].GetFence(), 10))
			break
		}
		page.Leases = append(page.Leases, one)
	}
	return page, nil
}

func fenceOf(cursor string) int64 {
	fence, _ := strconv.ParseInt(cursor, 10, 64)
	return fence
}

func (l *locked) ClaimTask(_ context.Context, r *openintentv1.ClaimTaskRequest, _ ...grpc.CallOption) (*openintentv1.Task, error) {
	if l.taken {
		return nil, fault.New(fault.Conflict, "TASK_CLAIMED", "Somebody was faster.")
	}
	return &openintentv1.Task{Id: r.GetTaskId(), AssignedAgent: new("ann")}, nil
}

func (l *locked) GetTask(_ context.Context, r *openintentv1.GetTaskRequest, _ ...grpc.CallOption) (*openintentv1.Task, error) {
	return &openintentv1.Task{Id: r.GetTaskId(), IntentId: "mesh", Status: l.status, Version: int64(1 + len(l.changes))}, nil
}

func (l *locked) UpdateTask(_ context.Context, r *openintentv1.UpdateTaskRequest, _ ...grpc.CallOption) (*openintentv1.Task, error) {
	l.changes = append(l.changes, r)
	if l.mismatch--; l.mismatch >= 0 {
		return nil, fault.New(fault.Conflict, "VERSION_MISMATCH", "Somebody was faster.")
	}
	return &openintentv1.Task{Id: r.GetTaskId(), IntentId: "mesh", Status: r.GetStatus()}, nil
}

func inMesh(l *locked) *session {
	s := ann()
	s.intent, s.caller.Leases, s.caller.Tasks = "mesh", l, l
	return s
}

func (l *locked) hold(agent string, many int) {
	for range many {
		n := len(l.leases) + 1
		l.leases = append(l.leases, &openintentv1.Lease{Id: fmt.Sprint(n), Scope: fmt.Sprint("scope ", n), AgentId: agent, Fence: int64(n)})
	}
}

// Who leaves frees all of its locks, on whichever page they are, and nobody else's.
func TestAllLocksOfOneAgentAreFreed(t *testing.T) {
	l := &locked{pageOfLeases: 2}
	l.hold("ann", 1)
	l.hold("ben", 3)
	l.hold("ann", 2)
	l.hold("ben", 1)
	released, err := inMesh(l).releaseAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"scope 1", "scope 5", "scope 6"}, released)
	require.Len(t, l.leases, 4)

	l = &locked{pageOfLeases: 1}
	l.hold("ben", mostLocks)
	_, err = inMesh(l).releaseAll(t.Context())
	require.NoError(t, err, "as many as it looks through")
	l.hold("ben", 1)
	l.asks = 0
	_, err = inMesh(l).releaseAll(t.Context())
	require.ErrorIs(t, err, errTooManyLocks)
	require.Equal(t, mostLocks, l.asks)
}

// Who asks again for its own lock renews it, and for another's is refused.
func TestALockIsTakenOnce(t *testing.T) {
	l := &locked{}
	s := inMesh(l)
	for i := range 3 {
		held, renewed, err := s.lock(t.Context(), "file", 60)
		require.NoError(t, err)
		require.Equal(t, "lease-file", held.LockID)
		require.Equal(t, i > 0, renewed)
	}
	require.Equal(t, 2, l.renewed)
	l.leases[0].AgentId = "ben"
	_, _, err := s.lock(t.Context(), "file", 60)
	require.Equal(t, "LEASE_HELD", doors.RefusalOf(err).Reason)
	require.Equal(t, 2, l.renewed)
}

// A task that somebody else takes first leaves no lock behind, and ends none that the caller had before.
func TestAClaimThatFailsLeavesTheLocksAsTheyWere(t *testing.T) {
	for _, had := range []bool{false, true} {
		l := &locked{taken: true}
		s := inMesh(l)
		if had {
			_, _, err := s.lock(t.Context(), "file", 60)
			require.NoError(t, err)
		}
		_, err := s.claim(t.Context(), &openintentv1.Task{Id: "t"}, claimArguments{Resource: new("file")})
		require.Equal(t, "TASK_CLAIMED", doors.RefusalOf(err).Reason)
		require.Equal(t, had, len(l.leases) == 1, "%v", had)
	}
}

// A change begins anew with what the task is now, a bounded number of times.
func TestAChangeBeginsAnew(t *testing.T) {
	const running = openintentv1.TaskStatus_TASK_STATUS_RUNNING
	for mismatches, tries := range map[int]int{0: 1, 1: 2, changeTries - 1: changeTries, changeTries: changeTries} {
		l := &locked{mismatch: mismatches, status: openintentv1.TaskStatus_TASK_STATUS_CLAIMED}
		_, err := inMesh(l).change(t.Context(), "t", func(*openintentv1.Task) change { return change{status: running} })
		require.Equal(t, mismatches < changeTries, err == nil, mismatches)
		require.Len(t, l.changes, tries)
		require.EqualValues(t, tries, l.changes[tries-1].GetExpectedVersion(), "the version that it has now")
	}
}
