package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// feedPage is how many messages, how many events and how many annotations one page of a feed reads.
const feedPage = 128

// Feed says what is read of an intent's log, and for whom. Of the annotations, if the filter includes them, it has only those
// that concern the reader (message.Annotation.Concerns).
type Feed struct {
	IntentNo int64
	// ChannelNo leaves only one channel's messages and annotations, and no logged events. With 0 the feed is the whole intent.
	ChannelNo int64
	// Reaching leaves what reaches the reader: messages to it or to a role it holds, its own messages, messages to everyone
	// where it takes part in the intent, and its assignments.
	Reaching bool
	// By is the reader: the caller, or the agent for whom the server itself delivers. The feed leaves out what lies outside of its scope.
	By caller.Caller
	// Filter narrows the feed. Its attention is for ReadEntries and ReadSome, by which deliveries are made.
	Filter reading.Filter
	// Facts leaves only messages, without their payloads and metadata. It is for ReadEntries and ReadSome, too.
	Facts bool
}

// FeedPage is the part of a feed after a position, as one snapshot had it.
type FeedPage struct {
	Entries []reading.Entry
	// Through is how far the log was read. A cursor moves there, past what the reader may not see.
	Through int64
	// Log is how the log ended.
	Log LogEnd
	// Ended is true when nothing will follow after Through, because the feed's channel is closed or deleted.
	Ended bool
	// End is set when the page reaches the log's last position: from there the feed can go on by what is handed over.
	End *FeedEnd
}

// ReadFeed reads the entries after a position: at most limit of them, and at most 3 MiB. A page may hold fewer entries,
// even none, and yet end before the log's last position; go on after Through. A reader without access is refused.
func (s *Service) ReadFeed(ctx context.Context, feed Feed, after int64, limit int) (FeedPage, error) {
	limit = max(limit, 1)
	r := feed.reading()
	r.After, r.Through, r.Limit = after, after+reading.MaxSpan, min(limit, feedPage)
	var page FeedPage
	err := s.db.ReadFor(ctx, caller.ReaderOf(ctx, feed.By.Agent), func(tx *database.Tx) error {
		seen, err := s.view(tx, feed, r)
		if err != nil {
			return err
		}
		page = FeedPage{Through: max(after, seen.Through), Log: endOf(&seen.Head)}
		size := 0
		for _, it := range seen.Items {
			entry, keep := seen.entry(it)
			if !keep {
				continue
			}
			size += it.Size()
			if len(page.Entries) == limit || len(page.Entries) > 0 && size > reading.MaxPageBytes {
				page.Through = it.Place - 1
				break
			}
			page.Entries = append(page.Entries, entry)
		}
		if page.Through >= page.Log.Position {
			page.Ended, page.End = seen.ended, seen.end()
		}
		return nil
	})
	return page, err
}

// reading returns the query for the feed.
func (f Feed) reading() reading.LogQuery {
	return reading.LogQuery{
		IntentNo: f.IntentNo, ChannelNo: f.ChannelNo, Agent: f.By.Agent, Everyone: f.By.IsOperator, Filter: f.Filter,
		Facts: f.Facts,
	}
}

// feedView is a log page as a feed's reader sees it.
type feedView struct {
	*reading.LogPage
	feed Feed
	// takesPart tells, for a feed that reaches, whether messages to everyone reach the reader.
	takesPart bool
	part      reading.Catchment
	// ended is true when the feed's channel is closed or deleted.
	ended bool
	// readAt is the clock's time just before this was read, or when a commit that was handed over was known.
	readAt time.Time
}

// view reads a log page for a feed, or refuses the feed's reader.
func (s *Service) view(tx *database.Tx, feed Feed, r reading.LogQuery) (*feedView, error) {
	view := &feedView{feed: feed, readAt: tx.Now()}
	var further []database.Statement
	if feed.Reaching {
		view.part, further = reading.PrepareCatchmentIn(feed.IntentNo, feed.By.Agent)
	}
	var err error
	if view.LogPage, err = s.reader.ReadLog(tx, r, []string{feed.By.Agent}, further...); err != nil {
		return nil, err
	}
	if !caller.IsGuest(feed.By.Agent) { // each channel decides by itself whether a guest takes part in it
		if err := view.Access.Require(feed.By, feed.By.Agent, intents.PermissionRead, view.Now); err != nil {
			return nil, err
		}
	}
	view.findPart()
	if feed.ChannelNo != 0 {
		return view, s.viewChannel(tx, view)
	}
	return view, nil
}

// findPart finds out whether messages to everyone reach the reader.
func (v *feedView) findPart() {
	agent := v.feed.By.Agent
	v.takesPart = v.part.TakesPart(v.feed.IntentNo, v.Access, agent, v.Presences[agent].DepartedAt, v.Now)
}

// viewChannel finds out what has become of the feed's only channel. It refuses a reader who takes no part in that channel.
func (s *Service) viewChannel(tx *database.Tx, view *feedView) error {
	key := channels.Key{IntentNo: view.feed.IntentNo, ChannelNo: view.feed.ChannelNo}
	channel, err := s.channels.Rules(tx, key, view.Head.Epoch)
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
	view.Channel, view.Count = channel, count
	view.ended = view.Closed()
	return view.Viewer(view.feed.By.Agent, view.feed.By.IsOperator).RequireParticipation(view.feed.By, view.Access)
}

// entry returns an item as the reader sees it, if the reader may see it and wants it.
func (v *feedView) entry(it reading.Item) (reading.Entry, bool) {
	entry := reading.Entry{
		Position: it.Place, IntentNo: v.Head.IntentNo, IntentID: v.Head.IntentID,
		Message: it.Message, Event: it.Event, Annotation: it.Annotation, Audit: it.Audit, Now: v.Now, ReadAt: v.readAt,
	}
	if !v.feed.Filter.Keeps(it) {
		return reading.Entry{}, false
	}
	if it.Event != nil {
		return entry, v.feed.By.Scope.CoversIntent(v.Head.IntentID) && (!v.feed.Reaching || v.feed.concerns(it.Event))
	}
	m := it.Judged()
	found, _ := v.StateOf(m.ChannelNo)
	entry = entry.In(found.Channel)
	if !v.feed.By.Scope.CoversChannel(entry.IntentID, entry.ChannelID) {
		return reading.Entry{}, false
	}
	viewer := v.ViewerOf(found.Channel, v.feed.By.Agent, v.feed.By.IsOperator)
	now := v.Now
	if it.Annotation != nil {
		if !it.Annotation.Concerns(viewer) {
			return reading.Entry{}, false
		}
		m, viewer, now = it.Annotation.Sight(viewer, now)
	}
	shown := viewer.Sees(m, message.Listed, found.Count.Floor, now)
	return entry, shown && (!v.feed.Reaching || v.reaches(m, viewer))
}

// concerns reports whether a logged event is about the reader's assignment.
func (f Feed) concerns(event *intents.Event) bool {
	if event.Type != "agent_assigned" && event.Type != "agent_unassigned" {
		return false
	}
	agent, _ := event.Payload.String("agent_id")
	return agent == f.By.Agent
}

// reaches reports whether a message that the reader may see is for it.
func (v *feedView) reaches(m *message.Message, viewer message.Viewer) bool {
	return m.Sender == viewer.Agent || viewer.Receives(m) && (v.takesPart || !message.ToEveryone(m.Target))
}
