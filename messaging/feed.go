package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/caller"
	"openintent/intents"
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

// ReadFeed reads the entries after a position, at most limit of them. A reader without access is refused.
func (s *Service) ReadFeed(ctx context.Context, feed Feed, after int64, limit int) (FeedPage, error) {
	return FeedPage{}, errors.New("unfinished")
}

// ReadEntries reads the entries at some positions, in order: those that are still kept and that the reader may still see. A
// reader without access is refused.
func (s *Service) ReadEntries(ctx context.Context, feed Feed, positions []int64) ([]Entry, error) {
	return nil, errors.New("unfinished")
}
