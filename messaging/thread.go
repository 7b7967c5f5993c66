package messaging

import (
	"context"
	"math"
	"slices"
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/messaging/claim"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
	"openintent/messaging/reading"
)

// threadList is the name that the cursors of threads have.
const threadList = "thread"

// thread is a page of a thread, as its viewer may see it.
type thread struct {
	root     *message.Message // nil if the viewer may not see it
	messages []*message.Message
	// next is the position after which the thread goes on; 0 if it ends with the page. bounded is true when the page ended because it had
	// looked at enough messages.
	next    int64
	bounded bool
	now     time.Time
	// reactions are those to the page's messages, and claim is the one on the root; nil for none.
	reactions []reaction.Reaction
	claim     *claim.Claim
}

// shown returns the messages of the page, the root first.
func (t thread) shown() []*message.Message {
	if t.root == nil {
		return t.messages
	}
	return slices.Concat([]*message.Message{t.root}, t.messages)
}

// GetThread returns a page of the thread of a message.
func (s *Service) GetThread(ctx context.Context, req *openintentv1.GetThreadRequest) (*openintentv1.Thread, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	var after int64
	page, err := pages.Begin(threadList, req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.thread(ctx, key, c, req.GetMessageId(), after, page.Limit())
	if err != nil {
		return nil, err
	}
	s.offers.record(c.Agent, found.now, found.shown()...)
	return found.toWire()
}

func (t thread) toWire() (*openintentv1.Thread, error) {
	wire := new(openintentv1.Thread)
	var err error
	if t.root != nil {
		if wire.Root, err = t.root.ToWire(t.now); err != nil {
			return nil, err
		}
	}
	if wire.Messages, err = message.ToWire(t.messages, t.now); err != nil {
		return nil, err
	}
	seen := make(map[string]struct{})
	for _, m := range t.shown() {
		wire.LastPosition = m.Position
		if _, known := seen[m.Sender]; !known {
			seen[m.Sender] = struct{}{}
			wire.Participants = append(wire.Participants, m.Sender)
		}
	}
	t.fillMarks(wire)
	wire.Bounded = t.bounded
	if t.next > 0 {
		next := pages.Cursor(threadList, t.next)
		wire.NextCursor = &next
	}
	return wire, nil
}

// thread reads the thread of a message, from a position on.
func (s *Service) thread(
	ctx context.Context, key channels.Key, by caller.Caller, id string, after int64, limit int,
) (t thread, err error) {
	err = s.db.ReadFor(ctx, by.Reader(), func(tx *database.Tx) error {
		l, err := s.reader.Snapshot(tx, key, []string{by.Agent})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(by, by.Agent)
		if err != nil {
			return err
		}
		if t, err = readThread(tx, l, viewer, id, after, limit, s.lookedAt); err != nil {
			return err
		}
		return t.readMarks(tx, l, viewer)
	})
	return t, err
}

// readThread reads a page of a thread, and looks at a bounded number of messages. If the viewer may not see the first message, it does
// not learn from an empty page whether there are others.
func readThread(
	tx *database.Tx, l reading.Snapshot, viewer message.Viewer, id string, after int64, limit, lookAt int,
) (t thread, err error) {
	shows := func(m *message.Message) bool {
		return viewer.Sees(m, message.Listed, l.Count.Floor, l.Now)
	}
	root, position, visible, err := findThread(tx, l, viewer, id, shows)
	if err != nil {
		return t, err
	}
	t.now = l.Now
	g := gathering{limit: limit + 1, most: reading.MaxPageBytes, keeps: shows} // one more, to know whether the page is the last one
	if shows(root) {
		t.root, g.bytes = root, root.Size()
	}
	p := reading.ThreadQuery{
		MessageQuery: reading.MessageQuery{
			IntentNo: l.Channel.IntentNo, ChannelNo: l.Channel.ChannelNo, ChannelID: l.Channel.ID,
			After: max(after, position), Through: math.MaxInt64, Agent: viewer.Agent, Everyone: viewer.Operator,
			Limit: min(reading.FirstChunk, limit+1),
		},
		Root: position, LookAt: lookAt,
	}
	var more bool
	t.messages, more, err = g.gather(tx, l, p.Next)
	if err == nil && !visible && len(t.messages) == 0 {
		return t, message.ErrMessageNotFound
	}
	switch {
	case len(t.messages) > limit:
		t.messages = t.messages[:limit]
		t.next = t.messages[limit-1].Position
	case more: // the page is full of bytes
		t.next = t.messages[len(t.messages)-1].Position
	case p.Bounded:
		t.next, t.bounded = p.After, true
	}
	return t, err
}

// findThread finds the thread of a message: its root, if that is there, and the root's position. A viewer that may not see the message,
// or comes after its eviction, sees what is below it if the message is a root, because that names it. If there is nothing below either,
// the message does not exist for the viewer; so it is told whether the message itself is visible.
func findThread(
	tx *database.Tx, l reading.Snapshot, viewer message.Viewer, id string, shows func(*message.Message) bool,
) (root *message.Message, position int64, visible bool, err error) {
	named, err := l.Find(tx, viewer.Agent, id)
	if err != nil {
		return nil, 0, false, err
	}
	if visible = shows(named); visible {
		position = named.ThreadRoot()
	} else if position, err = reading.RootPosition(tx, l, id); err != nil {
		return nil, 0, false, err
	}
	switch {
	case position == 0:
		return nil, 0, false, message.ErrMessageNotFound
	case named != nil && named.Position == position:
		return named, position, visible, nil
	}
	root, err = l.FindAt(tx, viewer.Agent, position)
	return root, position, visible, err
}
