package leases

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// RenewLease makes a lease of the caller last for a time from now on, unless it has ended.
func (s *Service) RenewLease(ctx context.Context, req *openintentv1.RenewLeaseRequest) (*openintentv1.Lease, error) {
	var renewed *Lease
	err := s.own(ctx, req.GetIntentId(), req.GetLeaseId(), func(c *change, around surroundings, l *Lease) error {
		renewed = l
		renewed.extend(around, durationOf(req.DurationSeconds))
		return save(c.tx, renewed)
	})
	if err != nil {
		return nil, err
	}
	return message(req.GetIntentId(), renewed, s.db.Now()), nil
}

// ReleaseLease ends a lease of the caller, unless it has ended. The operator may so revoke another's.
func (s *Service) ReleaseLease(
	ctx context.Context, req *openintentv1.ReleaseLeaseRequest,
) (*openintentv1.ReleaseLeaseResponse, error) {
	answer := &openintentv1.ReleaseLeaseResponse{Message: "Lease released"}
	err := s.own(ctx, req.GetIntentId(), req.GetLeaseId(), func(c *change, _ surroundings, l *Lease) error {
		status, why := openintentv1.LeaseStatus_LEASE_STATUS_RELEASED, endedByRelease
		if c.caller.Agent != l.AgentID {
			status, why = openintentv1.LeaseStatus_LEASE_STATUS_REVOKED, endedByOperator
		}
		if err := c.end(l, c.caller.Agent, why); err != nil {
			return err
		}
		answer.Lease = message(req.GetIntentId(), l, c.head.Now())
		answer.Lease.Status, answer.Lease.ReleasedAt = status, timestamppb.New(c.head.LastAt)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// own runs a change of a lease that the caller holds, or that anybody holds if the operator calls. Whether a lease has ended,
// is another agent's or never was, the refusal is the same.
func (s *Service) own(
	ctx context.Context, intentID, leaseID string, do func(c *change, around surroundings, l *Lease) error,
) error {
	if err := caller.CheckText("lease_id", leaseID); err != nil {
		return err
	}
	by, intentNo, err := s.resolve(ctx, intentID)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		c, err := s.begin(tx, by, intentNo)
		if err != nil {
			return err
		}
		l, err := byID(tx, intentNo, leaseID)
		if err != nil {
			return err
		}
		if l == nil || l.AgentID != by.Agent && !by.IsOperator {
			return ErrNotFound
		}
		around, err := c.around(l.AgentID)
		if err != nil {
			return err
		}
		if l.endedBy(around) != "" {
			return ErrNotFound
		}
		if err := do(c, around, l); err != nil {
			return err
		}
		return c.tell()
	})
}

// alive returns until when a waiting call counts as alive that shows a sign of life now.
func (s *Service) alive(now time.Time) time.Time { return now.Add(3 * s.lookAgain) }
