package invites

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/caller"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/keys"
	"openintent/pages"
)

// ListInvites lists a page of a channel's invites.
func (s *Service) ListInvites(
	ctx context.Context, req *openintentv1.ListInvitesRequest,
) (*openintentv1.ListInvitesResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var at int64
	var id string
	page, err := pages.Begin("invites", req, pages.MaxEntries, &at, &id)
	if err != nil {
		return nil, err
	}
	var found []*keys.Key
	err = s.db.ReadHeavy(ctx, c.KeyID, func(tx *database.Tx) error {
		if err := s.channels.RequireManager(tx, c, req.GetChannelId()); err != nil {
			return err
		}
		found, err = keys.ListInvites(tx, page, req.GetChannelId(), at, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages, now := make([]*openintentv1.Invite, len(found)), s.db.Now()
	for i, key := range found {
		messages[i] = message(key, now)
	}
	response := &openintentv1.ListInvitesResponse{}
	response.Invites, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(found[i].CreatedAt), found[i].ID}
	})
	return response, nil
}

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

// message returns an invite as clients see it at a time.
func message(k *keys.Key, now time.Time) *openintentv1.Invite {
	return &openintentv1.Invite{
		Id: k.ID, ChannelId: k.Invite.ChannelID, Label: k.Label, Status: keys.Status(k, now),
		Agents: k.Agents, ExpectedAgents: k.Invite.Expected, MaxAgents: int32(k.Invite.MaxAgents), ReadOnly: k.ReadOnly,
		CreatedAt: stamp(k.CreatedAt), CreatedBy: k.Invite.By, ExpiresAt: stamp(k.ExpiresAt),
		LastUsedAt: stamp(k.LastUsedAt), RevokedAt: stamp(k.RevokedAt),
	}
}

// stamp returns a time as the contract writes it; nil for zero.
func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
