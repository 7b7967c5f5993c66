package keys

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/pages"
)

// ListKeys lists a page of keys.
func (s *Service) ListKeys(ctx context.Context, req *openintentv1.ListKeysRequest) (*openintentv1.ListKeysResponse, error) {
	c, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	var after place
	page, err := pages.Begin("keys", req, pages.MaxEntries, &after.at, &after.id)
	if err != nil {
		return nil, err
	}
	now := s.db.Now()
	condition, args := having(req.GetStatus(), database.Micros(now))
	var keys []*Key
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		keys, err = list(tx, page, condition, args, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Key, len(keys))
	for i, key := range keys {
		messages[i] = s.message(key)
	}
	response := &openintentv1.ListKeysResponse{}
	response.Keys, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(keys[i].CreatedAt), keys[i].ID}
	})
	return response, nil
}

// having returns the condition of keys with a status, with its arguments; no status selects all keys.
func having(status openintentv1.KeyStatus, now int64) (condition string, args []any) {
	switch status {
	case openintentv1.KeyStatus_KEY_STATUS_ACTIVE:
		return live, []any{now}
	case openintentv1.KeyStatus_KEY_STATUS_EXPIRED:
		return "revoked_at IS NULL AND expires_at <= ?", []any{now}
	case openintentv1.KeyStatus_KEY_STATUS_REVOKED:
		return "revoked_at IS NOT NULL", nil
	}
	return "1 = 1", nil
}
