package messaging

import (
	"context"
	"errors"
	"slices"
	"time"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
)

const (
	// feedPage is how many rows of a kind one page of a feed reads, and feedWindow over how many positions it looks at most:
	// a reader of whom little is seen costs many small pages and no long one.
	feedPage   = 128
	feedWindow = 16_384
)

// Filter narrows what a feed gives. Its zero value narrows nothing.
type Filter struct {
	// EventTypes are the types wanted: of logged events, and channel_message for messages. Empty: all.
	EventTypes []string
	// MessageType and CorrelationID, when set, leave only such messages and no logged events.
	MessageType   Type
	CorrelationID string
}

// Feed is what is read of an intent's log, and through whose eyes.
type Feed struct {
	IntentNo int64
	// ChannelNo leaves only one channel's messages, and no logged events; 0: the whole intent.
	ChannelNo int64
	// Reaching leaves what reaches the reader: messages to it or to a role it holds, its own messages, messages to everyone
	// where it takes part in the intent, and its assignments.
	Reaching bool
	// By is the reader: the caller, or the agent for whom the server itself delivers.
	By     caller.Caller
	Filter Filter
}

// Entry is one thing in an intent's log as a reader sees it: a message or a logged event.
type Entry struct {
	Position int64
	IntentNo int64
	IntentID string
	// ChannelNo, ChannelID and ChannelName are a message's.
	ChannelNo              int64
	ChannelID, ChannelName string
	// Message or Event is set. Audit is the log's copy of an audited message.
	Message *Message
	Event   *intents.Event
	Audit   *intents.Event
	// Now is the time by which the entry was judged; a message's status is the one of that time.
	Now time.Time

	// forms are set when several followers may share the entry.
	forms *forms
}

// FeedPage is what one snapshot of a feed held after a position.
type FeedPage struct {
	Entries []Entry
	// Through is how far the log has been looked at: a cursor moves there, past what the reader may not see.
	Through int64
	// Last is the log's last position.
	Last int64
	// Ended is true when nothing will follow after Through: the feed's channel is closed or deleted.
	Ended bool
}

// in gives a message's entry with its channel.
func (e Entry) in(channel *channels.Rules) Entry {
	e.ChannelNo, e.ChannelID, e.ChannelName = channel.ChannelNo, channel.ID, channel.Name
	return e
}

// At gives the entry as of a later time, without reading it again, and tells whether its reader is still shown it then: its
// time may have run out since.
func (e Entry) At(now time.Time, by caller.Caller) (later Entry, shown bool) {
	if now.After(e.Now) {
		e.Now = now
	}
	return e, e.Message == nil || timely(e.Message, Viewer{Agent: by.Agent, Operator: by.IsOperator}, e.Now)
}

// ToWire gives the entry as clients see it: a message, with the log's copy if it has one, or an event.
func (e Entry) ToWire() (message *openintentv1.Message, event, audit *openintentv1.Event, err error) {
	if e.Event != nil {
		event, err = e.Event.ToWire()
		return nil, event, nil, err
	}
	if message, err = e.Message.toWire(e.Now); err != nil {
		return nil, nil, nil, err
	}
	if e.Audit != nil {
		audit, err = e.Audit.ToWire()
	}
	return message, nil, audit, err
}

// ReadFeed reads the entries after a position, at most limit of them, up to 3 MiB. A page may hold fewer, even none, and
// yet end before the log's last position: go on after Through. A reader without access is refused.
func (s *Service) ReadFeed(ctx context.Context, feed Feed, after int64, limit int) (FeedPage, error) {
	limit = max(limit, 1)
	r := feed.reading()
	r.after, r.through, r.limit = after, after+feedWindow, min(limit, feedPage)
	var page FeedPage
	err := s.db.Read(ctx, func(tx *database.Tx) error {
		seen, err := s.view(tx, feed, r)
		if err != nil {
			return err
		}
		page = FeedPage{Through: max(after, seen.through), Last: seen.head.LastPosition}
		size := 0
		for _, it := range seen.items {
			entry, keep := seen.entry(it)
			if !keep {
				continue
			}
			size += it.size()
			if len(page.Entries) == limit || len(page.Entries) > 0 && size > maxPageBytes {
				page.Through = it.place - 1
				break
			}
			page.Entries = append(page.Entries, entry)
		}
		page.Ended = seen.ended && page.Through >= page.Last
		return nil
	})
	return page, err
}

// ReadEntries reads the entries at some positions, in order: those that are still kept and that the reader may still see. A
// reader without access is refused.
func (s *Service) ReadEntries(ctx context.Context, feed Feed, positions []int64) ([]Entry, error) {
	var entries []Entry
	err := s.db.Read(ctx, func(tx *database.Tx) error {
		wanted := distinct(slices.Clone(positions))
		for len(wanted) > 0 {
			r := feed.reading()
			r.at = wanted[:min(len(wanted), feedPage)]
			r.limit = len(r.at) + 1 // so that only its bytes can cut a page
			seen, err := s.view(tx, feed, r)
			if err != nil {
				return err
			}
			for _, it := range seen.items {
				if entry, keep := seen.entry(it); keep {
					entries = append(entries, entry)
				}
			}
			known := r.at[len(r.at)-1]
			if seen.cut {
				known = seen.through
			}
			wanted = slices.DeleteFunc(wanted, func(position int64) bool { return position <= known })
		}
		return nil
	})
	return entries, err
}

// reading gives what is to be read for the feed.
func (f Feed) reading() reading {
	return reading{
		intentNo: f.IntentNo, channelNo: f.ChannelNo, agent: f.By.Agent, everyone: f.By.IsOperator, filter: f.Filter,
	}
}

// feedView is a section through the eyes of a feed's reader.
type feedView struct {
	*section
	feed Feed
	// takesPart tells, for a feed that reaches, whether what is said to everyone reaches the reader.
	takesPart bool
	// ended is true when the feed's channel is closed or deleted.
	ended bool
}

// view reads a section for a feed, or refuses its reader.
func (s *Service) view(tx *database.Tx, feed Feed, r reading) (*feedView, error) {
	view := &feedView{feed: feed}
	var further []database.Statement
	var part reach
	if feed.Reaching {
		part, further = prepareReachIn(feed.IntentNo, feed.By.Agent)
	}
	var err error
	if view.section, err = s.readSection(tx, r, []string{feed.By.Agent}, further...); err != nil {
		return nil, err
	}
	if err := view.access.Require(feed.By, feed.By.Agent, intents.PermissionRead, view.now); err != nil {
		return nil, err
	}
	departedAt := view.presences[feed.By.Agent].DepartedAt
	view.takesPart = part.takesPart(feed.IntentNo, view.access, feed.By.Agent, departedAt, view.now)
	if feed.ChannelNo != 0 {
		return view, s.viewChannel(tx, view)
	}
	return view, nil
}

// prepareReachIn gives the statements that read what decides, in one intent, whether an agent takes part, and where they
// put it.
func prepareReachIn(intentNo int64, agentID string) (reach, []database.Statement) {
	r := reach{spoken: make(map[int64]bool)}
	var listing database.Statement
	listing, r.listed = channels.PrepareListing(intentNo, agentID)
	return r, []database.Statement{listing, {
		SQL:  "SELECT intent_no FROM audiences WHERE name = ? AND intent_no = ? AND sent",
		Args: []any{agentID, intentNo},
		Scan: func(database.Row) error {
			r.spoken[intentNo] = true
			return nil
		},
	}}
}

// viewChannel finds out what has become of the feed's only channel, and refuses a reader who takes no part in it.
func (s *Service) viewChannel(tx *database.Tx, view *feedView) error {
	key := channels.Key{IntentNo: view.feed.IntentNo, ChannelNo: view.feed.ChannelNo}
	channel, err := s.channels.Rules(tx, key, view.head.Epoch)
	if errors.Is(err, channels.ErrChannelNotFound) {
		view.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	count, err := channels.LoadCount(tx, key)
	if err != nil {
		return err
	}
	view.channel, view.count = channel, count
	view.ended = view.closed()
	return view.mayParticipate(view.feed.By, view.viewer(view.feed.By.Agent, view.feed.By.IsOperator))
}

// entry gives an item as the reader sees it, if it does and wants to.
func (v *feedView) entry(it item) (Entry, bool) {
	entry := Entry{
		Position: it.place, IntentNo: v.head.IntentNo, IntentID: v.head.IntentID,
		Message: it.message, Event: it.event, Audit: it.audit, Now: v.now,
	}
	if !v.feed.Filter.keeps(it) {
		return Entry{}, false
	}
	if it.event != nil {
		return entry, !v.feed.Reaching || v.feed.concerns(it.event)
	}
	found, _ := v.talkOf(it.message.ChannelNo)
	entry = entry.in(found.channel)
	viewer := v.viewerOf(found.channel, v.feed.By.Agent, v.feed.By.IsOperator)
	shown := it.message.Ordinal > found.count.Floor && listed(it.message, viewer, v.now)
	return entry, shown && (!v.feed.Reaching || v.reaches(it.message, viewer))
}

// concerns tells whether a logged event is about the reader's assignment.
func (f Feed) concerns(event *intents.Event) bool {
	if event.Type != "agent_assigned" && event.Type != "agent_unassigned" {
		return false
	}
	agent, _ := event.Payload.String("agent_id")
	return agent == f.By.Agent
}

// reaches tells whether a message that the reader may see is for it.
func (v *feedView) reaches(m *Message, viewer Viewer) bool {
	return m.Sender == viewer.Agent || viewer.receives(m) && (v.takesPart || !toEveryone(m.Target))
}

// FilterFrom gives the filter that a request asks for, checked; unset values narrow nothing.
func (s *Service) FilterFrom(
	eventTypes []string, messageType openintentv1.MessageType, correlationID string,
) (Filter, error) {
	filter := Filter{EventTypes: eventTypes, MessageType: typeFrom(messageType, ""), CorrelationID: correlationID}
	return filter, s.CheckFilter(filter)
}

// CheckFilter refuses a filter that cannot be asked of every database.
func (s *Service) CheckFilter(filter Filter) error {
	for _, eventType := range filter.EventTypes {
		if err := caller.CheckText("event_types", eventType); err != nil {
			return err
		}
	}
	return caller.CheckText("correlation_id", filter.CorrelationID)
}

// onlyMessages tells whether the filter leaves no logged events.
func (f Filter) onlyMessages() bool { return f.MessageType != "" || f.CorrelationID != "" }

func (f Filter) wants(eventType string) bool {
	return len(f.EventTypes) == 0 || slices.Contains(f.EventTypes, eventType)
}

// wantsMessages tells whether the filter leaves any messages.
func (f Filter) wantsMessages() bool { return f.wants(MessageEventType) }

// loggedTypes gives the types of the logged events that the filter leaves, and of the copies that come with messages; none:
// all.
func (f Filter) loggedTypes() []string {
	if f.onlyMessages() {
		return []string{MessageEventType}
	}
	return f.EventTypes
}

// keeps tells whether the filter leaves an item.
func (f Filter) keeps(it item) bool {
	if it.event != nil {
		return !f.onlyMessages() && f.wants(it.event.Type)
	}
	m := it.message
	return f.wantsMessages() && (f.MessageType == "" || m.Type == f.MessageType) &&
		(f.CorrelationID == "" || m.CorrelationID == f.CorrelationID)
}
