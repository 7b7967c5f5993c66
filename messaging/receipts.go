package messaging

import (
	"context"
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// UpdateMessage marks a message read, or edits it (edit.go).
//
// This file stores receipts: each says that one recipient has acknowledged one message. MarkInboxRead stores them for several
// messages (inbox_read.go).
func (s *Service) UpdateMessage(ctx context.Context, req *openintentv1.UpdateMessageRequest) (*openintentv1.Message, error) {
	if err := checkUpdate(req); err != nil {
		return nil, err
	}
	if req.GetStatus() == openintentv1.MessageStatus_MESSAGE_STATUS_UNSPECIFIED {
		return s.editMessage(ctx, req)
	}
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	acting, err := c.ActAs("agent_id", req.GetAgentId())
	if err != nil {
		return nil, err
	}
	m, now, err := s.markRead(ctx, key, c, acting, req.GetMessageId())
	if err != nil {
		return nil, err
	}
	return m.ToWire(now)
}

// markRead stores a recipient's acknowledgement. The first recipient to acknowledge sets the message's read_at.
// Acknowledging again changes nothing.
func (s *Service) markRead(ctx context.Context, key channels.Key, by caller.Caller, acting, id string) (m *message.Message, now time.Time, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		l, _, err := s.reader.LockedSnapshot(tx, key, []string{acting})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(by, acting)
		if err != nil {
			return err
		}
		m, err = l.Find(tx, acting, id)
		if err != nil {
			return err
		}
		now = l.Now
		if err := mayAcknowledge(m, viewer, l); err != nil {
			return err
		}
		return acknowledge(tx, acting, inboxItem{message: m, now: now})
	})
	return m, now, err
}

// mayAcknowledge refuses an acknowledgement of a message that the viewer may not see, has sent itself, or is too late for.
func mayAcknowledge(m *message.Message, viewer message.Viewer, l reading.Snapshot) error {
	switch {
	case !viewer.Sees(m, message.ByID, l.Count.Floor, l.Now):
		return message.ErrMessageNotFound
	case m.Sender == viewer.Agent:
		return message.ErrOwnMessage
	case m.Expired(l.Now) || m.Type != message.TypeRequest && m.PastExpiry(l.Now) && !m.ReadByViewer:
		return message.ErrMessageExpired.With("message_id", m.ID)
	}
	return nil
}

// acknowledge writes the agent's receipts. For each message that nobody has acknowledged before, it also writes read_at.
func acknowledge(tx *database.Tx, agent string, items ...inboxItem) error {
	var readers []string
	var intentNos, positions, times []int64
	var firstIntentNos, firstPositions, firstTimes []int64
	for _, item := range items {
		m, at := item.message, database.Micros(item.now)
		if m.ReadByViewer {
			continue
		}
		m.ReadByViewer = true
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
