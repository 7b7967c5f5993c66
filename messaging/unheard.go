package messaging

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// Unheard counts what waits for an agent, must be answered, and was handed to nothing of the agent's yet, up to a page of an inbox. oldest is
// when the oldest of it was sent. The caller must speak for the agent. A message that was handed over a moment ago may still be counted.
func (s *Service) Unheard(ctx context.Context, c caller.Caller, agent string) (count int, oldest time.Time, err error) {
	page, err := s.lookIntoInbox(ctx, inboxQuery{
		by: c, agent: agent, limit: inboxPage, policies: []openintentv1.ResponsePolicy{openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND},
	})
	if err != nil || len(page.items) == 0 {
		return 0, time.Time{}, err
	}
	var handed map[messagePlace]struct{}
	err = s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		handed, err = handedOver(tx, agent, page.items)
		return err
	})
	for _, item := range page.items {
		m := item.message
		if _, heard := handed[messagePlace{m.IntentNo, m.Position}]; heard {
			continue
		}
		if count++; count == 1 || m.CreatedAt.Before(oldest) {
			oldest = m.CreatedAt
		}
	}
	return count, oldest, err
}

// handedOver returns which of the messages were handed to the agent: by their own offers, and those to everyone by the channels' marks.
func handedOver(tx *database.Tx, agent string, items []inboxItem) (map[messagePlace]struct{}, error) {
	var intentNos, positions, channelNos []int64
	for _, item := range items {
		intentNos, positions = append(intentNos, item.message.IntentNo), append(positions, item.message.Position)
		channelNos = append(channelNos, item.message.ChannelNo)
	}
	handed, marks := make(map[messagePlace]struct{}), make(map[messagePlace]int64) // marks by intent and channel
	offers, offersArgs := tx.InRows(
		database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	channels, channelsArgs := tx.InRows(
		database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "channel_no", Values: channelNos})
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, position FROM offers WHERE agent_id = ? AND " + offers,
		Args: append([]any{agent}, offersArgs...),
		Scan: func(row database.Row) error {
			var place messagePlace
			err := row.Scan(&place.intentNo, &place.position)
			handed[place] = struct{}{}
			return err
		},
	}, database.Statement{
		SQL:  "SELECT intent_no, channel_no, ordinal FROM channel_offers WHERE agent_id = ? AND " + channels,
		Args: append([]any{agent}, channelsArgs...),
		Scan: func(row database.Row) error {
			var place messagePlace
			var ordinal int64
			err := row.Scan(&place.intentNo, &place.position, &ordinal)
			marks[place] = ordinal
			return err
		},
	})
	for _, item := range items {
		m := item.message
		if message.ToEveryone(m.Target) && m.Ordinal <= marks[messagePlace{m.IntentNo, m.ChannelNo}] {
			handed[messagePlace{m.IntentNo, m.Position}] = struct{}{}
		}
	}
	return handed, err
}
