package messaging

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/reach"
)

// MarkSurfaced stores that an agent's model saw several messages: all of them or none. It is a call of AttentionService, which the room
// above serves.
func (s *Service) MarkSurfaced(
	ctx context.Context, req *openintentv1.MarkSurfacedRequest,
) (*openintentv1.MarkSurfacedResponse, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var times map[messagePlace]time.Time
	var now time.Time
	items, err := s.markInbox(ctx, c, agent, firstOfEach(req.GetMessageIds()), marking{
		load: factsByIDs, may: mayBeSurfaced,
		store: func(tx *database.Tx, agent string, items ...inboxItem) (err error) {
			now = tx.Now()
			times, err = surface(tx, agent, now, items)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	answer := &openintentv1.MarkSurfacedResponse{}
	var newly []reach.Place
	for _, item := range items {
		place := messagePlace{item.message.IntentNo, item.message.Position}
		if times[place].Equal(now) {
			newly = append(newly, reach.Place{IntentNo: place.intentNo, Position: place.position})
		}
		answer.Messages = append(answer.Messages, &openintentv1.SurfacedMessage{
			MessageId:  item.message.ID,
			SurfacedAt: timestamppb.New(times[place]),
		})
	}
	if s.here != nil {
		s.here.Surfaced(agent, now, newly...)
	}
	return answer, nil
}

// mayBeSurfaced refuses a message that is not for the viewer. Its time does not matter: the model saw it all the same.
func mayBeSurfaced(m *message.Message, viewer message.Viewer, l reading.Snapshot) error {
	switch {
	case !viewer.Sees(m, message.ByID, l.Count.Floor, l.Now):
		return message.ErrMessageNotFound
	case m.Sender == viewer.Agent:
		return message.ErrOwnMessage
	case !viewer.Receives(m):
		return message.ErrMessageNotFound
	}
	return nil
}

// factsByIDs reads messages without their content.
func factsByIDs(tx *database.Tx, agent string, ids []string) (found []*message.Message, err error) {
	in, argument := tx.In("m.id", ids)
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT " + message.FactColumns + " FROM messages m WHERE " + in,
		Args: message.ViewedBy(agent, argument),
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			found = append(found, m)
			return err
		},
	})
	return found, err
}

// surface writes the times of messages that the agent's model saw now, and returns the times that count: the first ones.
func surface(tx *database.Tx, agent string, seen time.Time, items []inboxItem) (map[messagePlace]time.Time, error) {
	now := database.Micros(seen)
	var agentIDs []string
	var intentNos, positions, times []int64
	for _, item := range items {
		agentIDs, intentNos = append(agentIDs, agent), append(intentNos, item.message.IntentNo)
		positions, times = append(positions, item.message.Position), append(times, now)
	}
	first := make(map[messagePlace]time.Time, len(items))
	key := []database.Column{
		{Name: "intent_no", Values: intentNos}, {Name: "position", Values: positions}, {Name: "agent_id", Values: agentIDs},
	}
	in, arguments := tx.InRows(key...)
	return first, tx.Pipeline(append(
		tx.InsertIgnore("dispositions", append(key, database.Column{Name: "surfaced_at", Values: times})...),
		database.Statement{
			SQL:  "UPDATE dispositions SET surfaced_at = ? WHERE surfaced_at IS NULL AND " + in,
			Args: append([]any{now}, arguments...),
		},
		database.Statement{
			SQL:  "SELECT intent_no, position, surfaced_at FROM dispositions WHERE " + in,
			Args: arguments,
			Scan: func(row database.Row) error {
				var place messagePlace
				var at int64
				err := row.Scan(&place.intentNo, &place.position, &at)
				first[place] = database.Time(at)
				return err
			},
		})...)
}
