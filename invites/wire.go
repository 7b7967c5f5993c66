package invites

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/keys"
)

// draftOf reads a request for an invite.
func draftOf(ctx context.Context, req *openintentv1.CreateInviteRequest) (draft keys.InviteDraft, c caller.Caller, err error) {
	if c, err = caller.Known(ctx); err != nil {
		return draft, c, err
	}
	draft = keys.InviteDraft{
		Label: req.GetLabel(), ReadOnly: req.GetReadOnly(),
		Invite: keys.Invite{
			MaxAgents: int(req.GetMaxAgents()), Expected: append([]string{}, req.GetAgents()...), By: c.Agent, ByKey: c.KeyID,
		},
	}
	draft.ExpiresAt, err = keys.Moment("expires_at", req.GetExpiresAt())
	return draft, c, err
}

// message returns an invite as clients see it now.
func (s *Service) message(k *keys.Key) *openintentv1.Invite {
	m := &openintentv1.Invite{
		Id: k.ID, ChannelId: k.Invite.ChannelID, Label: k.Label, Status: keys.Status(k, s.db.Now()),
		Agents: k.Agents, ExpectedAgents: k.Invite.Expected, MaxAgents: int32(k.Invite.MaxAgents), ReadOnly: k.ReadOnly,
		CreatedAt: stamp(k.CreatedAt), CreatedBy: k.Invite.By, ExpiresAt: stamp(k.ExpiresAt),
		LastUsedAt: stamp(k.LastUsedAt), RevokedAt: stamp(k.RevokedAt),
	}
	if reason := s.keys.Paused(k); reason != "" {
		m.PausedReason = &reason
	}
	return m
}

// stamp returns a time as the contract writes it; nil for zero.
func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
