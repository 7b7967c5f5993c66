package messaging

import (
	"context"
	"slices"
	"strings"
	"time"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
)

// listing is one call of ListMessages.
type listing struct {
	by            caller.Caller
	since         string
	recipient     string
	limit         int
	messageType   Type
	correlationID string
}

// list gives the retained messages that the caller may see: those after the cursor, or without one the newest; and the
// cursor to go on with.
func (s *Service) list(
	ctx context.Context, key channels.Key, q listing,
) (messages []*Message, next string, now time.Time, err error) {
	err = s.db.Read(ctx, func(tx *database.Tx) error {
		l, err := s.reader.look(tx, key, []string{q.by.Agent, q.recipient})
		if err != nil {
			return err
		}
		viewer, err := l.admitViewer(q.by, q.by.Agent)
		if err != nil {
			return err
		}
		now = l.now
		messages, err = q.collect(tx, l, viewer)
		next = q.next(messages, l)
		return err
	})
	return messages, next, now, err
}

// next gives the cursor after a page. After an empty one that is the cursor asked with or, without one, the time of the
// intent's newest position, after which everything lies that is stored later.
func (q listing) next(messages []*Message, l look) string {
	switch {
	case len(messages) > 0:
		return messages[len(messages)-1].ID
	case q.since != "":
		return q.since
	}
	return l.head.LastAt.Format(time.RFC3339Nano)
}

// keeps tells whether a message belongs to the list: the viewer may see it and, when a recipient is asked for, that agent
// receives it.
func (q listing) keeps(m *Message, l look, viewer Viewer) bool {
	return listed(m, viewer, l.now) && (q.recipient == "" || l.isFor(m, viewer, q.recipient))
}

// collect gathers the page in chunks until it is full or the channel's end (or floor) is reached.
func (q listing) collect(tx *database.Tx, l look, viewer Viewer) ([]*Message, error) {
	after, backwards := l.count.Floor, q.since == ""
	if !backwards {
		cursor, err := cursorOrdinal(tx, l, q.since)
		if err != nil {
			return nil, err
		}
		after = max(after, cursor)
	}
	p := page{
		intentNo: l.channel.IntentNo, channelNo: l.channel.ChannelNo, channelID: l.channel.ID,
		after: after, through: l.count.Messages, agent: viewer.Agent, everyone: viewer.Operator,
		messageType: q.messageType, correlationID: q.correlationID,
		newestFirst: backwards, limit: min(firstChunk, q.limit),
	}
	var kept []*Message
	for bytes := 0; len(kept) < q.limit; {
		rows, err := p.load(tx, l)
		if err != nil {
			return nil, err
		}
		for _, m := range rows.messages {
			if !q.keeps(m, l, viewer) {
				continue
			}
			bytes += m.size()
			if len(kept) == q.limit || len(kept) > 0 && bytes > maxPageBytes {
				return q.ordered(kept), nil
			}
			kept = append(kept, m)
		}
		if rows.complete(p.limit) {
			break
		}
		if last := rows.messages[len(rows.messages)-1].Ordinal; backwards {
			p.through = last - 1
		} else {
			p.after = last
		}
		p.limit = rows.following(p.limit)
	}
	return q.ordered(kept), nil
}

// ordered turns a page that was read newest first into rising order.
func (q listing) ordered(messages []*Message) []*Message {
	if q.since == "" {
		slices.Reverse(messages)
	}
	return messages
}

// cursorOrdinal finds the place after which a list goes on: a message id of this channel or a time. An id that is no
// longer retained goes on at the oldest retained message; one of another channel, or a malformed one, is refused.
func cursorOrdinal(tx *database.Tx, l look, since string) (int64, error) {
	if at, err := parseTime(since); err == nil {
		return ordinalAt(tx, l, at)
	}
	if !isMessageID(since) {
		return 0, fault.BadField("since", "it must be a message id of this channel or an RFC 3339 time")
	}
	var intentNo, channelNo, ordinal int64
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, channel_no, ordinal FROM messages WHERE id = ?",
		Args: []any{since},
		Scan: func(row database.Row) error { return row.Scan(&intentNo, &channelNo, &ordinal) },
	})
	if err != nil || ordinal == 0 {
		return 0, err
	}
	if (channels.Key{IntentNo: intentNo, ChannelNo: channelNo}) != l.channel.Key {
		return 0, fault.BadField("since", "it names a message of another channel; give one of this channel or a time")
	}
	return ordinal, nil
}

// ordinalAt finds the last ordinal whose message was stored at or before a time.
func ordinalAt(tx *database.Tx, l look, at time.Time) (int64, error) {
	return ordinalBy(tx, l, "created_at", database.Micros(at))
}

// parseTime reads an RFC 3339 time, in lower case too; one without a zone is taken as UTC. In a query a bare + means a
// space, and the offset of a time begins with one.
func parseTime(text string) (time.Time, error) {
	text = strings.ReplaceAll(strings.ToUpper(text), " ", "+")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC(), nil
	}
	return time.Parse("2006-01-02T15:04:05.999999999", text)
}

// get gives one retained message that the caller may see.
func (s *Service) get(ctx context.Context, key channels.Key, by caller.Caller, id string) (m *Message, now time.Time, err error) {
	err = s.db.Read(ctx, func(tx *database.Tx) error {
		l, err := s.reader.look(tx, key, []string{by.Agent})
		if err != nil {
			return err
		}
		viewer, err := l.admitViewer(by, by.Agent)
		if err != nil {
			return err
		}
		m, err = l.find(tx, viewer.Agent, id)
		now = l.now
		if err == nil && (m == nil || m.Ordinal <= l.count.Floor || !visible(m, viewer)) {
			return errMessageNotFound
		}
		return err
	})
	return m, now, err
}

// markRead stores a recipient's acknowledgement. The first one sets the message's read_at; repeats change nothing.
func (s *Service) markRead(ctx context.Context, key channels.Key, by caller.Caller, acting, id string) (m *Message, now time.Time, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		l, _, err := s.reader.lookLocked(tx, key, []string{acting})
		if err != nil {
			return err
		}
		viewer, err := l.admitViewer(by, acting)
		if err != nil {
			return err
		}
		m, err = l.find(tx, acting, id)
		if err != nil {
			return err
		}
		now = l.now
		if err := mayAcknowledge(m, viewer, l); err != nil {
			return err
		}
		return acknowledge(tx, acting, inboxItem{message: m, now: now})
	})
	return m, now, err
}

func mayAcknowledge(m *Message, viewer Viewer, l look) error {
	switch {
	case m == nil || m.Ordinal <= l.count.Floor || !visible(m, viewer):
		return errMessageNotFound
	case m.Sender == viewer.Agent:
		return errOwnMessage
	case m.Expired(l.now) || m.Type != TypeRequest && m.pastExpiry(l.now) && !m.readByViewer:
		return errMessageExpired.With("message_id", m.ID)
	}
	return nil
}
