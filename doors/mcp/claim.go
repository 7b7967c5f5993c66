package mcp

import (
	"context"
	"strings"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// claim takes, renews or gives back a claim on a message, or a lease of a resource.
var claim = newTool(adds, "claim", "Take or renew a claim on a message, or a lease of a resource of an intent, so that others leave it to you. Claim a request of several before you work on it.",
	`"message":{"type":"string","description":"id"},"resource":{"type":"string","description":"INTENT_ID/any name"},`+
		`"ttl_s":{"type":"integer"},"release":{"type":"boolean"}`,
	nil,
	func(ctx context.Context, s *session, given claimArguments) (any, error) {
		switch {
		case (given.Message == "") == (given.Resource == ""):
			return nil, fault.BadField("message", "or resource must be given, and one of the two alone.")
		case given.Release && given.TTL != nil:
			return nil, fault.BadField("ttl_s", "cannot stand beside release; leave it out.")
		case given.Message != "":
			return s.claimMessage(ctx, given)
		}
		intent, scope, both := strings.Cut(given.Resource, "/")
		if !both || intent == "" || scope == "" {
			return nil, fault.BadField("resource", "must be an intent's id, / and a name.")
		}
		if given.Release {
			return s.releaseLease(ctx, intent, scope)
		}
		return s.lease(ctx, intent, scope, given.TTL)
	})

type claimArguments struct {
	Message  string `json:"message"`
	Resource string `json:"resource"`
	// TTL is in seconds.
	TTL     *int32 `json:"ttl_s"`
	Release bool   `json:"release"`
}

// claimAnswer is who holds what was asked for, and until when.
type claimAnswer struct {
	Holder   string `json:"holder,omitempty"`
	Expires  string `json:"expires,omitempty"`
	Fence    int64  `json:"fence,omitempty"`
	Released bool   `json:"released,omitempty"`
}

// claimKey is the key of the claims that the door makes. Under it an agent finds its claim again where the contract does not show it,
// which is on its own message.
const claimKey = "claim of the door for MCP"

// errNotHeld refuses to give back what the caller does not hold.
var errNotHeld = fault.New(fault.Conflict, "CLAIM_LOST", "You hold no claim on the message; there is nothing to release.")

// errNoLease refuses to give back a lease that the caller does not hold.
var errNoLease = fault.New(fault.NotFound, "LEASE_NOT_FOUND", "You hold no lease of the resource; there is nothing to release.")

// claimMessage takes or renews the caller's claim on a message, or gives it back. The door finds the claim's fence.
func (s *session) claimMessage(ctx context.Context, given claimArguments) (any, error) {
	message, err := s.message(ctx, given.Message)
	if err != nil {
		return nil, err
	}
	fence, err := s.held(ctx, message)
	if err != nil {
		return nil, err
	}
	if given.Release {
		if fence == nil {
			return nil, errNotHeld
		}
		_, err := s.caller.Claims.ReleaseClaim(ctx, &openintentv1.ReleaseClaimRequest{
			ChannelId: message.GetChannelId(), MessageId: message.GetId(), Fence: *fence,
		})
		return claimAnswer{Released: true}, err
	}
	request := &openintentv1.ClaimMessageRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), TtlSeconds: given.TTL, Fence: fence,
	}
	if fence == nil {
		request.IdempotencyKey = new(claimKey)
	}
	made, err := s.caller.Claims.ClaimMessage(ctx, request)
	if err != nil {
		return nil, err
	}
	s.tookMessage(ctx, message)
	return claimAnswer{Holder: made.GetHolder(), Expires: moment(made.GetExpiresAt()), Fence: made.GetFence()}, nil
}

// held returns the fence of the caller's claim on a message, and nil if it holds none. The contract shows the claim to a recipient alone;
// on its own message the caller finds it again under the key of the door's claims.
func (s *session) held(ctx context.Context, message *openintentv1.Message) (*int64, error) {
	fence, err := s.fenceOf(ctx, message)
	if err != nil || fence != nil || message.GetSender() != s.caller.Agent {
		return fence, err
	}
	thread, err := s.caller.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), Limit: new(int32(1)),
	})
	if err != nil || thread.GetRoot().GetId() != message.GetId() || thread.GetClaim().GetHolder() != s.caller.Agent {
		return nil, err
	}
	standing, err := s.caller.Claims.ClaimMessage(ctx, &openintentv1.ClaimMessageRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), IdempotencyKey: new(claimKey),
	})
	if err != nil {
		return nil, err
	}
	return &standing.Fence, nil
}

// lease takes a lease of a scope that nobody holds, or renews the caller's.
func (s *session) lease(ctx context.Context, intent, scope string, ttl *int32) (any, error) {
	lease, err := s.caller.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
		IntentId: intent, Scope: scope, DurationSeconds: ttl,
	})
	if err != nil {
		refusal := doors.RefusalOf(err)
		if refusal.Reason != "LEASE_HELD" || refusal.Facts["agent_id"] != s.caller.Agent {
			return nil, err
		}
		lease, err = s.caller.Leases.RenewLease(ctx, &openintentv1.RenewLeaseRequest{
			IntentId: intent, LeaseId: refusal.Facts["lease_id"], DurationSeconds: ttl,
		})
		if err != nil {
			return nil, err
		}
	}
	return claimAnswer{Holder: lease.GetAgentId(), Expires: moment(lease.GetExpiresAt()), Fence: lease.GetFence()}, nil
}

// releaseLease gives the caller's lease of a scope back.
func (s *session) releaseLease(ctx context.Context, intent, scope string) (any, error) {
	page, err := s.caller.Leases.ListLeases(ctx, &openintentv1.ListLeasesRequest{IntentId: intent, Scope: &scope})
	if err != nil {
		return nil, err
	}
	for _, lease := range page.GetLeases() {
		if lease.GetAgentId() != s.caller.Agent {
			continue
		}
		_, err := s.caller.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: intent, LeaseId: lease.GetId()})
		return claimAnswer{Released: true}, err
	}
	return nil, errNoLease
}
