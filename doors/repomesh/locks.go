package repomesh

import (
	"context"
	"time"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// defaultTTL is how long a lock lasts unless its holder says, in seconds.
const defaultTTL = 300

// lockAcquire takes a lock that nobody holds. A lock is a lease of the mesh, and its resource the scope.
var lockAcquire = newAction("lock.acquire", "Lock a resource, such as src/auth.py or task:ID, for ttl seconds (300).",
	[]string{"resource_key"}, []property{text("resource_key"), whole("ttl"), retryCount},
	func(ctx context.Context, s *session, given acquireArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		held, _, err := s.lock(ctx, given.Resource, ttlOf(given.TTL))
		return held, err
	})

type acquireArguments struct {
	identity
	Resource string `json:"resource_key"`
	TTL      *int32 `json:"ttl"`
}

// lockRenew is the lock's heartbeat.
var lockRenew = newAction("lock.renew", "Keep a lock for ttl seconds (300) from now.",
	[]string{"lock_id"}, []property{text("lock_id"), whole("ttl")},
	func(ctx context.Context, s *session, given renewArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		ttl := ttlOf(given.TTL)
		lease, err := s.caller.Leases.RenewLease(ctx, &openintentv1.RenewLeaseRequest{
			IntentId: s.intent, LeaseId: given.LockID, DurationSeconds: &ttl,
		})
		if err != nil {
			return nil, err
		}
		return lockOf(lease, ttl), nil
	})

type renewArguments struct {
	identity
	LockID string `json:"lock_id"`
	TTL    *int32 `json:"ttl"`
}

// lockRelease gives a lock back.
var lockRelease = newAction("lock.release", "Give a lock back.", []string{"lock_id"}, []property{text("lock_id")},
	func(ctx context.Context, s *session, given releaseArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		ended, err := s.caller.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: s.intent, LeaseId: given.LockID})
		if err != nil {
			return nil, err
		}
		return releasedLock{given.LockID, given.LockID, s.caller.Agent, "released", stamp(ended.GetLease().GetReleasedAt())}, nil
	})

type releaseArguments struct {
	identity
	LockID string  `json:"lock_id"`
	Reason *string `json:"reason"`
}

type releasedLock struct {
	ID         string `json:"id"`
	LockID     string `json:"lock_id"`
	AgentID    string `json:"agent_id"`
	State      string `json:"state"`
	ReleasedAt string `json:"released_at"`
}

// lock is a lease in the protocol's form.
type lock struct {
	ID         string `json:"id"`
	LockID     string `json:"lock_id"`
	AgentID    string `json:"agent_id"`
	Owner      string `json:"owner_agent_id"`
	Resource   string `json:"resource_key"`
	State      string `json:"state"`
	TTL        int32  `json:"ttl_seconds"`
	AcquiredAt string `json:"acquired_at"`
	ExpiresAt  string `json:"expires_at"`
	Heartbeat  string `json:"last_heartbeat"`
	// AutoRelease is always true: every lock ends with its time.
	AutoRelease bool `json:"auto_release"`
	// Fence is higher than that of every earlier lock of the mesh; what is locked may refuse a lower one.
	Fence int64 `json:"fence"`
}

// lockOf returns a lease that its holder has just taken or renewed, for so many seconds.
func lockOf(lease *openintentv1.Lease, ttl int32) lock {
	return lock{
		ID: lease.GetId(), LockID: lease.GetId(), AgentID: lease.GetAgentId(), Owner: lease.GetAgentId(), Resource: lease.GetScope(),
		State: "active", TTL: ttl, AcquiredAt: stamp(lease.GetAcquiredAt()), ExpiresAt: stamp(lease.GetExpiresAt()),
		Heartbeat:   lease.GetExpiresAt().AsTime().Add(-time.Duration(ttl) * time.Second).Format(stampLayout),
		AutoRelease: true, Fence: lease.GetFence(),
	}
}

func ttlOf(given *int32) int32 {
	if given == nil {
		return defaultTTL
	}
	return *given
}

// lock takes a lock, or renews the caller's own: whoever asks again after a lost answer has it. renewed is true if the caller had it already.
func (s *session) lock(ctx context.Context, resource string, ttl int32) (held lock, renewed bool, _ error) {
	lease, err := s.caller.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
		IntentId: s.intent, Scope: resource, DurationSeconds: &ttl,
	})
	if refusal := doors.RefusalOf(err); err != nil && refusal.Reason == "LEASE_HELD" && refusal.Facts["agent_id"] == s.caller.Agent {
		renewed = true
		lease, err = s.caller.Leases.RenewLease(ctx, &openintentv1.RenewLeaseRequest{
			IntentId: s.intent, LeaseId: refusal.Facts["lease_id"], DurationSeconds: &ttl,
		})
	}
	if err != nil {
		return lock{}, false, err
	}
	return lockOf(lease, ttl), renewed, nil
}

// mostLocks is how many pages of the mesh's locks the door looks through for those of one agent.
const mostLocks = 20

// errTooManyLocks says that the mesh has more locks than the door looks through.
var errTooManyLocks = fault.New(fault.Quota, "TOO_MANY_LOCKS",
	"The mesh has too many locks to find all of yours; release them with lock.release.")

// releaseAll ends all locks of the caller, and returns what they locked.
func (s *session) releaseAll(ctx context.Context) (released []string, _ error) {
	request := &openintentv1.ListLeasesRequest{IntentId: s.intent}
	for range mostLocks {
		page, err := s.caller.Leases.ListLeases(ctx, request)
		if err != nil {
			return released, err
		}
		for _, lease := range page.GetLeases() {
			if lease.GetAgentId() != s.caller.Agent {
				continue
			}
			_, err := s.caller.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: s.intent, LeaseId: lease.GetId()})
			if err := unless(err, "LEASE_NOT_FOUND"); err != nil {
				return released, err
			}
			released = append(released, lease.GetScope())
		}
		if page.NextCursor == nil {
			return released, nil
		}
		request.Cursor = page.NextCursor
	}
	return released, errTooManyLocks
}
