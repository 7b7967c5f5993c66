package messaging

import (
	"context"
	"errors"
	"slices"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
)

// MarkInboxRead marks several messages read at once, or none.
func (s *Service) MarkInboxRead(
	ctx context.Context, req *openintentv1.MarkInboxReadRequest,
) (*openintentv1.MarkInboxReadResponse, error) {
	c, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	items, err := s.markInboxRead(ctx, c, req.GetAgentId(), firstOfEach(req.GetMessageIds()))
	if err != nil {
		return nil, err
	}
	answer := &openintentv1.MarkInboxReadResponse{}
	for _, item := range items {
		message, err := item.message.toWire(item.now)
		if err != nil {
			return nil, err
		}
		answer.Messages = append(answer.Messages, message)
	}
	return answer, nil
}

// firstOfEach leaves of equal texts the first, in their order.
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

// markInboxRead stores an agent's acknowledgements of messages of any channels, under the locks of all their intents: of
// all of them or, with the refusal of the first that may not be acknowledged, of none.
func (s *Service) markInboxRead(ctx context.Context, by caller.Caller, agent string, ids []string) (items []inboxItem, err error) {
	wellFormed := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !isMessageID(id) })
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
		items, err = s.acknowledgeTogether(tx, heads, by, agent, ids, wellFormed)
		return err
	})
	return items, err
}

// acknowledgeTogether is what markInboxRead does under the locks.
func (s *Service) acknowledgeTogether(
	tx *database.Tx, heads intents.Heads, by caller.Caller, agent string, ids, wellFormed []string,
) ([]inboxItem, error) {
	messages, err := loadByIDs(tx, agent, wellFormed)
	if err != nil {
		return nil, err
	}
	presence, err := presenceOf(tx, agent)
	if err != nil {
		return nil, err
	}
	seen, err := s.reader.survey(tx, heads, map[string]agents.Presence{agent: presence})
	if err != nil {
		return nil, err
	}
	if err := seen.include(messages); err != nil {
		return nil, err
	}
	byID := make(map[string]*Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	items := make([]inboxItem, 0, len(ids))
	for _, id := range ids {
		m := byID[id]
		l := seen.look(m)
		if l == nil {
			return nil, errMessageNotFound.With("message_id", id)
		}
		if err := mayAcknowledge(m, l.viewer(agent, actsAsOperator(by, agent)), *l); err != nil {
			return nil, naming(err, id)
		}
		items = append(items, inboxItem{message: m, channel: l.channel, now: l.now})
	}
	return items, acknowledge(tx, agent, items...)
}

// naming adds the message's id to a refusal.
func naming(err error, id string) error {
	var refusal *fault.Fault
	if errors.As(err, &refusal) {
		return refusal.With("message_id", id)
	}
	return err
}

// loadByIDs reads messages whole. They may be as large together as a page of an inbox, so that one can be marked at once.
func loadByIDs(tx *database.Tx, agent string, ids []string) ([]*Message, error) {
	whole := &selection{}
	for limit := firstChunk; len(ids) > 0; limit = min(2*limit, maxChunk) {
		chunk := ids[:min(limit, len(ids))]
		ids = ids[len(chunk):]
		in, argument := tx.In("m.id", chunk)
		err := tx.Pipeline(database.Statement{
			SQL:  "SELECT " + messageColumns + " FROM messages m WHERE " + in,
			Args: viewedBy(agent, argument),
			Scan: whole.scan,
		})
		if err != nil {
			return nil, err
		}
		if whole.full {
			return nil, fault.BadField("message_ids", "the messages have more than 3 MiB together; name fewer at once")
		}
	}
	return whole.messages, nil
}

// acknowledge writes the agent's receipts and, where they are the first, the messages' read_at.
func acknowledge(tx *database.Tx, agent string, items ...inboxItem) error {
	var readers []string
	var intentNos, positions, times []int64
	var firstIntentNos, firstPositions, firstTimes []int64
	for _, item := range items {
		m, at := item.message, database.Micros(item.now)
		if m.readByViewer {
			continue
		}
		m.readByViewer = true
		readers, intentNos = append(readers, agent), append(intentNos, m.IntentNo)
		positions, times = append(positions, m.Position), append(times, at)
		if m.ReadAt.IsZero() {
			m.ReadAt = item.now
			firstIntentNos, firstPositions = append(firstIntentNos, m.IntentNo), append(firstPositions, m.Position)
			firstTimes = append(firstTimes, at)
		}
	}
	statements := tx.Insert("receipts",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "agent_id", Values: readers},
		database.Column{Name: "read_at", Values: times},
	)
	return tx.Pipeline(append(statements, tx.Update("messages",
		[]database.Column{{Name: "intent_no", Values: firstIntentNos}, {Name: "position", Values: firstPositions}},
		[]database.Column{{Name: "read_at", Values: firstTimes}})...)...)
}
