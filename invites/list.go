package invites

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/keys"
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
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		if err := s.channels.RequireManager(tx, c, req.GetChannelId()); err != nil {
			return err
		}
		found, err = keys.ListInvites(tx, page, req.GetChannelId(), at, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Invite, len(found))
	for i, key := range found {
		messages[i] = s.message(key)
	}
	response := &openintentv1.ListInvitesResponse{}
	response.Invites, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(found[i].CreatedAt), found[i].ID}
	})
	return response, nil
}
