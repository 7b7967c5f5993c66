package messaging

import (
	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// keptEntries bounds for how many entries a feed's end keeps memory.
const keptEntries = 8

// FeedEnd is the state in which a feed that was read to the log's end found the log and its reader. From there the feed goes on by
// what is handed over (FeedFromHandover), as long as nothing else happens in the intent.
type FeedEnd struct {
	head     intents.Head
	presence agents.Presence
	part     reading.Catchment
	// view is what is handed over as the reader sees it, with the rules of the head's epoch as far as they are known, which never change.
	// entries is memory for a page. Both serve for one handover after the other.
	view    *feedView
	entries []reading.Entry
}

// end returns the state at the end of the log.
func (v *feedView) end() *FeedEnd {
	return &FeedEnd{head: v.Head.Copy(), presence: v.Presences[v.feed.By.Agent], part: v.part}
}

// viewing returns a view of what follows, for a feed that goes on from this end. It lacks what a commit hands over.
func (e *FeedEnd) viewing(feed Feed) *feedView {
	if e.view == nil {
		e.view = &feedView{part: e.part, LogPage: new(reading.LogPage)}
		e.view.Presences = map[string]agents.Presence{feed.By.Agent: e.presence}
	}
	e.view.feed = feed
	return e.view
}

// Has reports whether the feed was read beyond what a commit handed over.
func (e *FeedEnd) Has(stored *wake.Handover) bool {
	return stored.Head.LastPosition <= e.head.LastPosition && !stored.Head.LastAt.After(e.head.LastAt)
}

// FeedFromHandover returns the page that follows on a feed's end by what a commit handed over, and moves the end there. It returns false,
// and leaves the end where it is, when only a read can tell what follows: when the commit did not find the intent exactly as the feed
// left it, when rules have changed, and when who sees a message depends on records of agents that may have changed
// (reading.Snapshot.CanTell). The entries lack the log's copies of audited messages. They are the caller's until the next call for this end.
func (s *Service) FeedFromHandover(feed Feed, end *FeedEnd, stored *wake.Handover) (page FeedPage, known bool) {
	now := stored.Head.At(s.db.Now())
	switch {
	case !stored.Fresh(now), !stored.Before.Same(end.head), stored.Head.Epoch != end.head.Epoch:
		return FeedPage{}, false
	case feed.Filter.Attention, caller.IsGuest(feed.By.Agent): // these depend on more than is handed over
		return FeedPage{}, false
	}
	if read, there := stored.Presences[feed.By.Agent]; there && read != end.presence {
		return FeedPage{}, false
	}
	seen := end.viewing(feed)
	if seen.Access == nil {
		access, known := s.intents.KeptRules(feed.IntentNo, stored.Head.Epoch)
		if !known {
			return FeedPage{}, false
		}
		seen.Access = access
	}
	seen.Head, seen.Now, seen.readAt = stored.Head, now, stored.At
	if seen.Access.Require(feed.By, feed.By.Agent, intents.PermissionRead, now) != nil {
		return FeedPage{}, false // a read refuses the reader
	}
	seen.findPart()
	page = FeedPage{Through: stored.Head.LastPosition, Log: endOf(&stored.Head), End: end, Entries: end.entries[:0]}
	for i, m := range stored.Messages {
		entry, keep, known := s.entryFromHandover(seen, stored, m)
		if !known {
			return FeedPage{}, false
		}
		if keep {
			entry.Content = stored.Contents[i]
			page.Entries = append(page.Entries, entry)
		}
	}
	if end.head = stored.Head; cap(page.Entries) <= keptEntries {
		end.entries = page.Entries
	}
	return page, true
}

// entryFromHandover is feedView.entry for a message that was handed over. known is false if the handover alone
// does not show what the reader sees.
func (s *Service) entryFromHandover(seen *feedView, stored *wake.Handover, m *message.Message) (entry reading.Entry, keep, known bool) {
	if only := seen.feed.ChannelNo; only != 0 && only != m.ChannelNo {
		return reading.Entry{}, false, true
	}
	if seen.Channel == nil || seen.Channel.Key != m.Key() {
		channel, known := s.channels.KeptRules(m.Key(), stored.Head.Epoch)
		if !known {
			return reading.Entry{}, false, false
		}
		seen.Channel = channel
	}
	seen.Count = stored.Counts[m.ChannelNo]
	if seen.Closed() || !seen.CanTellOf(stored, m) {
		return reading.Entry{}, false, false
	}
	entry, keep = seen.entry(reading.Item{Place: m.Position, Message: m})
	unsure := seen.feed.Reaching && !seen.takesPart && message.ToEveryone(m.Target) // it may take part by now
	return entry, keep, keep || !unsure
}
