package messaging

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// ListMessages lists the messages that the caller may see.
func (s *Service) ListMessages(
	ctx context.Context, req *openintentv1.ListMessagesRequest,
) (*openintentv1.ListMessagesResponse, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	q := listing{
		by: c, since: req.GetSince(), recipient: req.GetTo(), limit: int(req.GetLimit()),
		messageType: message.TypeFrom(req.GetMessageType(), ""), correlationID: req.GetCorrelationId(), threadID: req.GetThreadId(),
		kind: req.GetKind(), lookAt: min(s.lookedAt, maxListed),
	}
	q.limit, q.bytes = cmp.Or(q.limit, reading.MaxPage), cmp.Or(int(req.GetMaxBytes()), reading.MaxPageBytes)
	if err := cmp.Or(caller.CheckText("to", q.recipient), caller.CheckText("correlation_id", q.correlationID),
		caller.CheckText("kind", q.kind)); err != nil {
		return nil, err
	}
	var answer openintentv1.ListMessagesResponse
	var page listPage
	if req.GetDocuments() {
		if err := checkDocuments(req); err != nil {
			return nil, err
		}
		page.messages, page.now, err = s.listDocuments(ctx, key, c, q.kind)
	} else if page, err = s.list(ctx, key, q); err == nil {
		answer.NextSince, answer.Bounded = &page.next, page.bounded
	}
	if err != nil {
		return nil, err
	}
	s.offers.record(c.Agent, page.now, page.messages...)
	if req.GetWithoutContents() {
		answer.Messages = message.ToWireWithoutContents(page.messages, page.now)
		return &answer, nil
	}
	answer.Messages, err = message.ToWire(page.messages, page.now)
	return &answer, err
}

// GetMessage returns one message.
func (s *Service) GetMessage(ctx context.Context, req *openintentv1.GetMessageRequest) (*openintentv1.Message, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	find := s.getFrom
	if req.GetChannelId() == channels.AnyID {
		find = s.getFromAnyChannel
	}
	m, now, err := find(ctx, c, req)
	if err != nil {
		return nil, err
	}
	s.offers.record(c.Agent, now, m)
	return m.ToWire(now)
}

// reading finds the caller and the channel of a call that reads.
func (s *Service) reading(ctx context.Context, channelID string) (caller.Caller, channels.Key, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return caller.Caller{}, channels.Key{}, err
	}
	key, err := s.locate(ctx, channelID)
	return c, key, err
}

// listing is one call of ListMessages.
type listing struct {
	by    caller.Caller
	since string
	// unknown is true if since is an id that the caller cannot know to be a message's: the list begins with the oldest message kept.
	unknown   bool
	recipient string
	limit     int
	// bytes is how much content the page has at most.
	bytes         int
	messageType   message.Type
	correlationID string
	threadID      string
	kind          string
	// lookAt is at how many messages a page looks.
	lookAt int
}

// listPage is a page of a list.
type listPage struct {
	messages []*message.Message
	// next is the cursor with which to go on.
	next string
	// bounded is true when the page ended because it had looked at enough messages.
	bounded bool
	now     time.Time
}

// list returns the retained messages that the caller may see: those after the cursor or, without one, the newest.
func (s *Service) list(ctx context.Context, key channels.Key, q listing) (page listPage, err error) {
	err = s.db.ReadFor(ctx, q.by.Reader(), func(tx *database.Tx) error {
		l, err := s.reader.Snapshot(tx, key, []string{q.by.Agent, q.recipient})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(q.by, q.by.Agent)
		if err != nil {
			return err
		}
		page, err = q.collect(tx, l, viewer)
		return err
	})
	if errors.Is(err, errElsewhere) {
		_, _, unseen := s.getFromAnyChannel(ctx, q.by, &openintentv1.GetMessageRequest{MessageId: q.since})
		switch {
		case errors.Is(unseen, message.ErrMessageNotFound):
			q.unknown = true
			return s.list(ctx, key, q)
		case unseen != nil:
			return listPage{}, unseen
		}
		err = fault.BadField("since", "it names a message of another channel; give one of this channel or a time")
	}
	return page, err
}

// keeps reports whether a message belongs to the list: the viewer may see it and, if the call asks for a kind or a recipient, it is of that
// kind, and that agent receives it.
func (q listing) keeps(m *message.Message, l reading.Snapshot, viewer message.Viewer) bool {
	return viewer.Sees(m, message.Listed, l.Count.Floor, l.Now) && (q.kind == "" || m.Conversation != nil && m.Conversation.Kind == q.kind) &&
		(q.recipient == "" || l.IsFor(m, viewer, q.recipient))
}

// collect gathers the page in chunks, until it is full, the end (or floor) of the channel is reached, or enough was looked at.
func (q listing) collect(tx *database.Tx, l reading.Snapshot, viewer message.Viewer) (page listPage, err error) {
	page.now = l.Now
	after, backwards := l.Count.Floor, q.since == ""
	if !backwards && !q.unknown {
		cursor, err := cursorOrdinal(tx, l, q.since)
		if err != nil {
			return page, err
		}
		after = max(after, cursor)
	}
	p := reading.MessageQuery{
		IntentNo: l.Channel.IntentNo, ChannelNo: l.Channel.ChannelNo, ChannelID: l.Channel.ID,
		After: after, Through: l.Count.Messages, Agent: viewer.Agent, Everyone: viewer.Operator,
		MessageType: q.messageType, CorrelationID: q.correlationID, Kind: q.kind,
		NewestFirst: backwards, Limit: min(reading.FirstChunk, q.limit),
	}
	source, err := q.from(tx, l, p)
	if err != nil || source == nil {
		page.next = q.next(nil, l)
		return page, err
	}
	g := gathering{limit: q.limit, most: q.bytes, keeps: func(m *message.Message) bool { return q.keeps(m, l, viewer) }}
	kept, more, err := g.gather(tx, l, source.Next)
	if err != nil {
		return page, err
	}
	page.messages = q.ordered(kept)
	page.next = q.next(page.messages, l)
	if page.bounded = !more && source.cut(); page.bounded && !backwards {
		page.next, err = timeOf(tx, l, source)
	}
	return page, err
}

// gathering is how a page is filled from a list of messages.
type gathering struct {
	limit int
	// most is how much content the page has at most, and bytes how much of it is filled from the beginning.
	most, bytes int
	keeps       func(m *message.Message) bool
}

// gather reads the list chunk by chunk until the page is full or the list ends. It also tells whether there may be more.
func (g gathering) gather(
	tx *database.Tx, l reading.Snapshot, next func(*database.Tx, reading.Snapshot) ([]*message.Message, bool, error),
) (kept []*message.Message, more bool, err error) {
	for last := false; len(kept) < g.limit && !last; {
		var messages []*message.Message
		tx.GiveWay()
		if messages, last, err = next(tx, l); err != nil {
			return nil, false, err
		}
		for _, m := range messages {
			if !g.keeps(m) {
				continue
			}
			g.bytes += m.Size()
			if len(kept) == g.limit || len(kept) > 0 && g.bytes > g.most {
				return kept, true, nil
			}
			kept = append(kept, m)
		}
		more = !last
	}
	return kept, more, nil
}

// ordered turns a page that was read newest first into rising order.
func (q listing) ordered(messages []*message.Message) []*message.Message {
	if q.since == "" {
		slices.Reverse(messages)
	}
	return messages
}

// getFrom returns the message that a request names, from the channel that the request names.
func (s *Service) getFrom(
	ctx context.Context, by caller.Caller, req *openintentv1.GetMessageRequest,
) (m *message.Message, now time.Time, err error) {
	key, err := s.locate(ctx, req.GetChannelId())
	if err != nil {
		return nil, time.Time{}, err
	}
	return s.get(ctx, key, by, req.GetMessageId())
}

// get returns one message that the caller sees.
func (s *Service) get(ctx context.Context, key channels.Key, by caller.Caller, id string) (m *message.Message, now time.Time, err error) {
	err = s.db.ReadFor(ctx, by.Reader(), func(tx *database.Tx) error {
		l, err := s.reader.Snapshot(tx, key, []string{by.Agent})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(by, by.Agent)
		if err != nil {
			return err
		}
		m, err = l.Find(tx, viewer.Agent, id)
		now = l.Now
		if err == nil && !viewer.Sees(m, message.ByID, l.Count.Floor, l.Now) {
			return message.ErrMessageNotFound
		}
		return err
	})
	return m, now, err
}
