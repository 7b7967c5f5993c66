package channels

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// DeleteChannel closes a channel and marks it as deleted; the hooks of OnDeleting take care of its messages.
func (s *Service) DeleteChannel(
	ctx context.Context, req *openintentv1.DeleteChannelRequest,
) (*openintentv1.DeleteChannelResponse, error) {
	err := s.manage(ctx, req.GetChannelId(), func(tx *database.Tx, subject *subject) error {
		closedAt, closed := subject.closed()
		if !closed {
			closedAt = subject.head.Tick()
		}
		if err := s.makeLasting(tx, subject, closedAt); err != nil {
			return err
		}
		if err := markDeleted(tx, subject.rules.Key, subject.head.Now()); err != nil {
			return err
		}
		s.changed(tx, subject.head, subject.rules.Key)
		for _, hook := range s.onDeleting {
			if err := hook(tx, subject.head, subject.rules.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &openintentv1.DeleteChannelResponse{
		Status:    openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED,
		ChannelId: req.GetChannelId(),
	}, nil
}

// Remove erases the last rows of a deleted channel once its messages are gone. No channel ever has its id again.
func (s *Service) Remove(tx *database.Tx, key Key) error {
	statements := []database.Statement{clearMembers(key), clearInsiders(key)}
	for _, table := range []string{"channel_heads", "channels"} {
		statements = append(statements, database.Statement{
			SQL:  "DELETE FROM " + table + " WHERE intent_no = ? AND channel_no = ?",
			Args: []any{key.IntentNo, key.ChannelNo},
		})
	}
	return tx.Pipeline(statements...)
}
