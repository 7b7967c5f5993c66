package messaging

import (
	"context"
	"errors"
	"slices"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// MarkInboxRead marks several messages read: all of them or none.
func (s *Service) MarkInboxRead(
	ctx context.Context, req *openintentv1.MarkInboxReadRequest,
) (*openintentv1.MarkInboxReadResponse, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	items, err := s.markInbox(ctx, c, agent, firstOfEach(req.GetMessageIds()), marking{loadByIDs, mayAcknowledge, acknowledge})
	if err != nil {
		return nil, err
	}
	answer := &openintentv1.MarkInboxReadResponse{}
	for _, item := range items {
		message, err := item.message.ToWire(item.now)
		if err != nil {
			return nil, err
		}
		answer.Messages = append(answer.Messages, message)
	}
	return answer, nil
}

// firstOfEach returns the different texts, in the order in which each comes first.
func firstOfEach(texts []string) []string {
	seen := make(map[string]struct{}, len(texts))
	var once []string
	for _, text := range texts {
		if _, again := seen[text]; !again {
			seen[text] = struct{}{}
			once = append(once, text)
		}
	}
	return once
}

// marking is something that an agent says of several messages: how the messages are read, which of them the agent may say it of,
// and how it is stored.
type marking struct {
	load  func(tx *database.Tx, agent string, ids []string) ([]*message.Message, error)
	may   func(m *message.Message, viewer message.Viewer, l reading.Snapshot) error
	store func(tx *database.Tx, agent string, items ...inboxItem) error
}

// markInbox stores what an agent says of messages in any channels, under the locks of all their intents. If the agent may not say it
// of one of them, it stores nothing and returns the refusal of the first such message.
func (s *Service) markInbox(
	ctx context.Context, by caller.Caller, agent string, ids []string, what marking,
) (items []inboxItem, err error) {
	wellFormed := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !message.IsID(id) })
	var intentNos []int64
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		in, argument := tx.In("id", wellFormed)
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT DISTINCT intent_no FROM messages WHERE " + in,
			Args: []any{argument},
			Scan: func(row database.Row) error {
				var intentNo int64
				err := row.Scan(&intentNo)
				intentNos = append(intentNos, intentNo)
				return err
			},
		})
	})
	if err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, intentNos...)
		if err != nil {
			return err
		}
		items, err = s.markTogether(tx, heads, by, agent, ids, wellFormed, what)
		return err
	})
	return items, err
}

// markTogether does the work of markInbox under the locks.
func (s *Service) markTogether(
	tx *database.Tx, heads intents.Heads, by caller.Caller, agent string, ids, wellFormed []string, what marking,
) ([]inboxItem, error) {
	messages, err := what.load(tx, agent, wellFormed)
	if err != nil {
		return nil, err
	}
	presence, err := presenceOf(tx, agent)
	if err != nil {
		return nil, err
	}
	seen, err := s.reader.Snapshots(tx, heads, map[string]agents.Presence{agent: presence})
	if err != nil {
		return nil, err
	}
	if err := seen.Include(messages); err != nil {
		return nil, err
	}
	byID := make(map[string]*message.Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	items := make([]inboxItem, 0, len(ids))
	for _, id := range ids {
		m := byID[id]
		l := seen.Of(m)
		if l == nil || !by.Scope.CoversChannel(l.Channel.IntentID, l.Channel.ID) {
			return nil, message.ErrMessageNotFound.With("message_id", id)
		}
		if err := what.may(m, l.Viewer(agent, message.ActsAsOperator(by, agent)), *l); err != nil {
			return nil, naming(err, id)
		}
		items = append(items, inboxItem{message: m, channel: l.Channel, now: l.Now})
	}
	return items, what.store(tx, agent, items...)
}

// naming adds the message's id to a refusal.
func naming(err error, id string) error {
	var refusal *fault.Fault
	if errors.As(err, &refusal) {
		return refusal.With("message_id", id)
	}
	return err
}

// loadByIDs reads messages whole. Together they may be as large as a page of an inbox, so that one call can mark a whole
// page.
func loadByIDs(tx *database.Tx, agent string, ids []string) ([]*message.Message, error) {
	whole := &reading.MessagePage{}
	for limit := reading.FirstChunk; len(ids) > 0; limit = min(2*limit, reading.MaxChunk) {
		chunk := ids[:min(limit, len(ids))]
		ids = ids[len(chunk):]
		in, argument := tx.In("m.id", chunk)
		err := tx.Pipeline(database.Statement{
			SQL:  "SELECT " + message.Columns + " FROM messages m WHERE " + in,
			Args: message.ViewedBy(agent, argument),
			Scan: whole.Scan,
		})
		if err != nil {
			return nil, err
		}
		if whole.Full {
			return nil, fault.BadField("message_ids", "together the messages have more than 3 MiB; name fewer of them in one call")
		}
	}
	return whole.Messages, nil
}
