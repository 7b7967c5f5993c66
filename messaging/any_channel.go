package messaging

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// getFromAnyChannel returns the message that a request names, from whichever channel it is in. A caller that may not read it there
// gets one answer, whatever the cause, so it learns nothing about messages and channels that are not for it.
func (s *Service) getFromAnyChannel(
	ctx context.Context, by caller.Caller, req *openintentv1.GetMessageRequest,
) (m *message.Message, now time.Time, err error) {
	place, err := s.placeOf(ctx, req.GetMessageId())
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case place == nil, !by.Scope.CoversChannel(place.IntentID, place.ChannelID):
		return nil, time.Time{}, message.ErrMessageNotFound
	}
	if m, now, err = s.get(ctx, place.Key, by, req.GetMessageId()); err == nil {
		return m, now, nil
	}
	if kind := fault.From(err).Kind; kind == fault.Denied || kind == fault.NotFound {
		err = message.ErrMessageNotFound
	}
	return nil, time.Time{}, err
}

// placeOf returns where a message is, or nil for an id that no message has.
func (s *Service) placeOf(ctx context.Context, messageID string) (place *reading.Place, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		place, err = reading.PlaceOf(tx, messageID)
		return err
	})
	return place, err
}
