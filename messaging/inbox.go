package messaging

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"time"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// inboxPage is how many items a page has when the call does not say.
	inboxPage = 100
	// maxCounted bounds the counts of an inbox.
	maxCounted = 10_000
	// maxLookedAt bounds how many messages one page of an inbox or a thread looks at, and maxListed those of a list, which lie further
	// apart. A page that ends because of that says so, and has a cursor that leads on.
	maxLookedAt, maxListed = 10_000, 5_000
)

// inboxQuery says which part of which inbox is wanted.
type inboxQuery struct {
	by    caller.Caller
	agent string
	after inboxPlace
	limit int
	// policies, unless there are none, leave only messages with one of them. attention adds to each message what it asks.
	policies  []openintentv1.ResponsePolicy
	attention bool
	// unhanded leaves out what was handed over, but for what was handed over since handedSince, unless that is zero (handed.go).
	unhanded    bool
	handedSince time.Time
	// counts are those of the inbox if they are known; otherwise the page counts.
	counts *inboxCounts
	// until is until when a page that ended because it looked at enough, and is empty, leads on to the next one by itself.
	until time.Time
}

// inbox is one page of an inbox.
type inbox struct {
	items  []inboxItem
	counts *inboxCounts
	// next is the place after which the inbox goes on; nil if it ends with the page.
	next *inboxPlace
	// bounded is true when the page ended because it had looked at enough messages. It may have no items then.
	bounded bool
}

// inboxCounts count a whole inbox, each up to maxCounted.
type inboxCounts struct {
	unread, unanswered int
	// bounded is true when there may be more than was counted.
	bounded bool
}

// inboxItem is a message that waits for its recipient, as of a time.
type inboxItem struct {
	message *message.Message
	channel *channels.Rules
	now     time.Time
	// attention is what the message asks of the recipient, if the call wants to know it.
	attention *attention.Judgement
}

// waits reports whether a message waits for its recipient. A request waits until somebody has answered it, or, if it takes a quorum,
// until that is complete or the viewer has answered it. Any other message waits until the viewer has read it. takesPart tells
// whether messages to everyone in the intent are for the viewer too.
func waits(m *message.Message, v message.Viewer, l *reading.Snapshot, takesPart bool) bool {
	switch {
	case !v.Sees(m, message.Answerable, l.Count.Floor, l.Now) || !v.Receives(m) || m.Deleted():
		return false
	case m.Type == message.TypeRequest:
		return m.Open && m.Answerable(l.Now) && (!m.AnsweredByViewer || m.ExactAnswers() == 0)
	case m.ReadByViewer || !m.EndedAt.IsZero() || m.PastExpiry(l.Now):
		return false
	}
	return takesPart || !message.ToEveryone(m.Target)
}

// inboxPlace is a message's place in the order of inboxes. The order is by time and, because intents keep their own time,
// then by intent and position. The zero value lies before all places.
type inboxPlace struct{ createdAt, intentNo, position int64 }

func placeInInbox(m *message.Message) inboxPlace {
	return inboxPlace{database.Micros(m.CreatedAt), m.IntentNo, m.Position}
}

func (p inboxPlace) compare(other inboxPlace) int {
	return cmp.Or(cmp.Compare(p.createdAt, other.createdAt), cmp.Compare(p.intentNo, other.intentNo),
		cmp.Compare(p.position, other.position))
}

// cursorForm is what a cursor says. Clients see it encoded, because its content is none of their business.
const cursorForm = "inbox:%d:%d:%d"

func (p inboxPlace) cursor() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, cursorForm, p.createdAt, p.intentNo, p.position))
}

func inboxPlaceFrom(cursor string) (p inboxPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		_, err = fmt.Sscanf(string(text), cursorForm, &p.createdAt, &p.intentNo, &p.position)
	}
	if err != nil || p.cursor() != cursor {
		return inboxPlace{}, fault.BadField("cursor", "it must be the next_cursor of a page of an inbox, or be left out")
	}
	return p, nil
}

// inboxReader reads one inbox in one snapshot. It finds what may wait for the agent through indexes, in the inbox's order
// (inbox_candidates.go), and ends when the page is full or it has looked at enough. Beyond the page it goes on only to count.
type inboxReader struct {
	*reading.Snapshots
	inboxQuery
	names []string       // the agent and, if it holds a role, the role's address
	part  map[int64]bool // intents that the agent may read; true where it takes part
	heads intents.Heads
	// bound is how many messages a page looks at.
	bound int
}

// readInbox reads a page of an inbox.
func (s *Service) readInbox(tx *database.Tx, q inboxQuery) (*inbox, error) {
	r, err := s.inboxReader(tx, q)
	if err != nil {
		return nil, err
	}
	page, sifted := &inbox{counts: q.counts}, &sifting{inboxReader: r}
	if page.counts == nil {
		page.counts = new(inboxCounts)
		counts := page.counts.of
		if q.after == (inboxPlace{}) { // the counts and the page begin together
			counts = func(waiting []*message.Message) (bool, error) {
				enough, err := page.counts.of(waiting)
				if err != nil {
					return false, err
				}
				full, err := sifted.take(waiting)
				return enough && full, err
			}
		}
		found, err := r.goThrough(inboxPlace{}, counts)
		if err != nil {
			return nil, err
		}
		page.counts.bounded = page.counts.bounded || found.bounded
		sifted.through = found
	}
	if q.after != (inboxPlace{}) {
		if sifted.through, err = r.goThrough(q.after, sifted.take); err != nil {
			return nil, err
		}
	}
	return page, r.fill(page, sifted)
}

// of counts waiting messages, and tells whether it has counted enough.
func (c *inboxCounts) of(waiting []*message.Message) (enough bool, err error) {
	for _, m := range waiting {
		unread, unanswered := !m.ReadByViewer, m.Type == message.TypeRequest
		c.bounded = c.bounded || unread && c.unread == maxCounted || unanswered && c.unanswered == maxCounted
		if unread {
			c.unread = min(c.unread+1, maxCounted)
		}
		if unanswered {
			c.unanswered = min(c.unanswered+1, maxCounted)
		}
	}
	return c.bounded, nil
}

// inboxReader begins to read: it finds out from where something may reach the agent.
func (s *Service) inboxReader(tx *database.Tx, q inboxQuery) (*inboxReader, error) {
	from, err := s.inboxSources(tx, q.agent)
	if err != nil {
		return nil, err
	}
	presences := map[string]agents.Presence{q.agent: from.presence}
	seen, err := s.reader.Snapshots(tx, from.heads, presences)
	if err != nil {
		return nil, err
	}
	r := &inboxReader{
		Snapshots: seen, inboxQuery: q, names: namesOf(from.presence), part: make(map[int64]bool), heads: from.heads, bound: s.lookedAt,
	}
	for _, head := range from.heads {
		if !q.by.Scope.MayReachInto(head.IntentID) {
			continue
		}
		access, now := seen.Access[head.IntentNo], head.Now()
		if caller.IsGuest(q.agent) || access.Level(q.agent, r.operator(), now) >= intents.PermissionRead {
			r.part[head.IntentNo] = from.reached.TakesPart(head.IntentNo, access, q.agent, from.presence.DepartedAt, now)
		}
	}
	return r, nil
}

func (r *inboxReader) operator() bool { return message.ActsAsOperator(r.by, r.agent) }

// passage says up to where an inbox was gone through.
type passage struct {
	through inboxPlace
	// bounded is true when there may be more after it.
	bounded bool
}

// goThrough gives take the messages after a place that wait for the agent, in order and without their content, until it has enough, or
// there are no more, or enough was looked at.
func (r *inboxReader) goThrough(after inboxPlace, take func(waiting []*message.Message) (enough bool, err error)) (passage, error) {
	p := passage{through: after}
	c, err := r.candidatesAfter(after)
	if err != nil {
		return p, err
	}
	for looked := 0; ; {
		r.Tx.GiveWay()
		found, err := c.take(min(r.bound-looked, reading.MaxChunk))
		if err != nil || len(found) == 0 {
			return p, err
		}
		looked += len(found)
		p.through = found[len(found)-1].inboxPlace
		waiting, err := r.waiting(found)
		if err != nil {
			return p, err
		}
		enough, err := take(waiting)
		if p.bounded = looked >= r.bound && c.more(); err != nil || enough || looked >= r.bound {
			return p, err
		}
	}
}

// waiting reads those of the candidates that wait for the agent.
func (r *inboxReader) waiting(found []candidate) (waiting []*message.Message, err error) {
	var places []inboxPlace
	for _, c := range found {
		if !c.read {
			places = append(places, c.inboxPlace)
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	messages := make([]*message.Message, 0, len(places))
	err = r.Tx.Pipeline(r.messagesAt(message.FactColumns, places, func(row database.Row) error {
		m, err := message.ScanFacts(row)
		messages = append(messages, m)
		return err
	}))
	if err != nil {
		return nil, err
	}
	if err := r.Include(messages); err != nil {
		return nil, err
	}
	for _, m := range messages {
		if l := r.Of(m); l != nil && r.by.Scope.CoversChannel(l.Channel.IntentID, l.Channel.ID) &&
			waits(m, l.Viewer(r.agent, r.operator()), l, r.part[m.IntentNo]) {
			waiting = append(waiting, m)
		}
	}
	return waiting, nil
}

// fill reads the messages of a page whole, up to the page's bound in bytes.
func (r *inboxReader) fill(page *inbox, sifted *sifting) error {
	waiting := sifted.kept[:min(len(sifted.kept), r.limit)]
	if err := r.load(page, waiting); err != nil {
		return err
	}
	switch {
	case len(page.items) < len(sifted.kept):
		place := placeInInbox(page.items[len(page.items)-1].message)
		page.next = &place
	case sifted.through.bounded:
		page.next, page.bounded = &sifted.through.through, true
	}
	return nil
}

// load reads messages whole, as many as fit in a page's bytes.
func (r *inboxReader) load(page *inbox, waiting []*message.Message) error {
	whole := &reading.MessagePage{}
	for limit := reading.FirstChunk; len(waiting) > 0 && !whole.Full; limit = min(2*limit, reading.MaxChunk) {
		chunk := waiting[:min(limit, len(waiting))]
		waiting = waiting[len(chunk):]
		if err := r.Tx.Pipeline(r.messagesAt(message.Columns, placesOf(chunk), whole.Scan)); err != nil {
			return err
		}
	}
	if err := r.Include(whole.Messages); err != nil {
		return err
	}
	for _, m := range whole.Messages {
		l := r.Of(m)
		page.items = append(page.items, inboxItem{message: m, channel: l.Channel, now: l.Now})
	}
	if !r.attention {
		return nil
	}
	judgements, err := r.attend(whole.Messages)
	for i, judged := range judgements {
		page.items[i].attention = judged
	}
	return err
}
