package messaging

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// inboxPage is how many items a page has when the call does not say.
	inboxPage = 100
	// maxCounted bounds the counts of an inbox.
	maxCounted = 10_000
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
}

// inbox is one page of an inbox.
type inbox struct {
	items []inboxItem
	// unread and unanswered count the whole inbox, each up to maxCounted.
	unread, unanswered int
	// more is true when the inbox goes on after the page.
	more bool
	// state is the inbox's state when the page was read.
	state inboxState
}

// inboxItem is a message that waits for its recipient, as of a time.
type inboxItem struct {
	message *message.Message
	channel *channels.Rules
	now     time.Time
	// attention is what the message asks of the recipient, if the call wants to know it.
	attention *attention.Judgement
}

// waits tells whether a message waits for its recipient. A request waits until somebody has answered it, or, if it takes a quorum,
// until that is complete or the viewer has answered it. Any other message waits until the viewer has read it. takesPart tells
// whether messages to everyone in the intent are for the viewer too. A request below the eviction floor can still be answered, so
// it waits.
func waits(m *message.Message, v message.Viewer, l *reading.Snapshot, takesPart bool) bool {
	switch {
	case !message.Visible(m, v) || !v.Receives(m) || m.Deleted():
		return false
	case m.Type == message.TypeRequest:
		return m.Open && m.Answerable(l.Now) && (!m.AnsweredByViewer || m.ExactAnswers() == 0)
	case m.ReadByViewer || !m.EndedAt.IsZero() || m.PastExpiry(l.Now):
		return false
	}
	return m.Ordinal > l.Count.Floor && (takesPart || !message.ToEveryone(m.Target))
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

// inboxReader reads one inbox in one snapshot. It looks at all messages that are kept and unread in the intents that may
// reach the agent, and at all requests that are open for it. A page costs that much, however short it is. What it looks at
// is bounded by the channels' max_messages and by the highest counts.
type inboxReader struct {
	*reading.Snapshots
	inboxQuery
	names []string       // the agent and, if it holds a role, the role's address
	part  map[int64]bool // intents that the agent may read; true where it takes part
}

// readInbox reads a page of an inbox.
func (s *Service) readInbox(tx *database.Tx, q inboxQuery) (*inbox, error) {
	r, state, err := s.inboxReader(tx, q)
	if err != nil {
		return nil, err
	}
	page := &inbox{state: state}
	var waiting []*message.Message
	for _, read := range []func(after inboxPlace, limit int) candidates{r.openRequests, r.unreadMessages} {
		all, complete, err := r.collect(read, inboxPlace{}, maxCounted, nil)
		if err != nil {
			return nil, err
		}
		page.count(all)
		after, _ := slices.BinarySearchFunc(all, q.after, func(m *message.Message, p inboxPlace) int {
			if placeInInbox(m).compare(p) > 0 {
				return 1
			}
			return -1
		})
		following, err := r.siftUntil(all[after:], q.limit+1)
		if err == nil && !complete && len(following) <= q.limit {
			following, _, err = r.collect(read, q.after, q.limit+1, r.sifting())
		}
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, following[:min(len(following), q.limit+1)]...)
	}
	slices.SortFunc(waiting, func(a, b *message.Message) int { return placeInInbox(a).compare(placeInInbox(b)) })
	page.more = len(waiting) > q.limit
	return page, r.fill(page, waiting[:min(len(waiting), q.limit)])
}

// count adds waiting messages of one kind to the counts.
func (i *inbox) count(waiting []*message.Message) {
	for _, m := range waiting {
		if m.Type == message.TypeRequest {
			i.unanswered++
		}
		if !m.ReadByViewer {
			i.unread = min(i.unread+1, maxCounted)
		}
	}
}

// inboxReader begins to read: it finds out from where something may reach the agent.
func (s *Service) inboxReader(tx *database.Tx, q inboxQuery) (*inboxReader, inboxState, error) {
	state, heads, reached, err := s.inboxState(tx, q.agent)
	if err != nil {
		return nil, inboxState{}, err
	}
	presences := map[string]agents.Presence{q.agent: state.presence}
	seen, err := s.reader.Snapshots(tx, heads, presences)
	if err != nil {
		return nil, inboxState{}, err
	}
	r := &inboxReader{Snapshots: seen, inboxQuery: q, names: state.names(), part: make(map[int64]bool)}
	for _, head := range heads {
		if !q.by.Scope.MayReachInto(head.IntentID) {
			continue
		}
		access, now := seen.Access[head.IntentNo], head.Now()
		if caller.IsGuest(q.agent) || access.Level(q.agent, r.operator(), now) >= intents.PermissionRead {
			r.part[head.IntentNo] = reached.TakesPart(head.IntentNo, access, q.agent, state.presence.DepartedAt, now)
		}
	}
	return r, state, nil
}

func (r *inboxReader) operator() bool { return message.ActsAsOperator(r.by, r.agent) }

// collect gathers messages after a place that wait for the agent, in order and without their content, as many as are
// wanted. Unless it is nil, sift leaves some of them. It tells whether these are all.
func (r *inboxReader) collect(
	read func(after inboxPlace, limit int) candidates, after inboxPlace, wanted int,
	sift func([]*message.Message) ([]*message.Message, error),
) (waiting []*message.Message, complete bool, err error) {
	limit := wanted
	if sift != nil {
		limit = max(limit, reading.MaxChunk)
	}
	for {
		found := read(after, limit)
		if err := r.Tx.Pipeline(found.statement); err != nil {
			return nil, false, err
		}
		rows := *found.messages
		if err := r.Include(rows); err != nil {
			return nil, false, err
		}
		var some []*message.Message
		for _, m := range rows {
			if l := r.Of(m); l != nil && r.by.Scope.CoversChannel(l.Channel.IntentID, l.Channel.ID) &&
				waits(m, l.Viewer(r.agent, r.operator()), l, r.part[m.IntentNo]) {
				some = append(some, m)
			}
		}
		if sift != nil {
			if some, err = sift(some); err != nil {
				return nil, false, err
			}
		}
		waiting = append(waiting, some...)
		if len(rows) < limit || len(waiting) >= wanted {
			return waiting[:min(len(waiting), wanted)], len(rows) < limit, nil
		}
		after = placeInInbox(rows[len(rows)-1])
	}
}

// fill reads the messages of a page whole, up to the page's bound in bytes.
func (r *inboxReader) fill(page *inbox, waiting []*message.Message) error {
	whole := &reading.MessagePage{}
	for limit := reading.FirstChunk; len(waiting) > 0 && !whole.Full; limit = min(2*limit, reading.MaxChunk) {
		chunk := waiting[:min(limit, len(waiting))]
		waiting = waiting[len(chunk):]
		if err := r.Tx.Pipeline(r.contents(whole, chunk)); err != nil {
			return err
		}
	}
	page.more = page.more || whole.Full
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
