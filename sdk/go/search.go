package openintent

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// SearchOptions narrow a search. What is empty or zero narrows nothing.
type SearchOptions struct {
	IntentID, ChannelID string
	// ThreadID is the id of a thread's first message.
	ThreadID string
	Sender   string
	// To is an address exactly as messages were sent to it: an agent, "role:" and a role, or "*" for everyone.
	To   string
	Kind string
	// After and Before bound when the messages were sent, without these times themselves.
	After, Before time.Time
	// Limit is how many messages a page has at most, up to 100; 20 when zero.
	Limit int
	// Cursor is NextCursor of the page before.
	Cursor string
}

// FoundMessage is a message that a search has found.
type FoundMessage struct {
	*Message
	// Snippet is the text around what was found, up to 200 characters.
	Snippet     string
	IntentID    string
	ChannelName string
}

// SearchPage is a page of what a search has found, the newest first.
type SearchPage struct {
	Messages []FoundMessage
	// NextCursor goes on; it is empty on the last page.
	NextCursor string
	// CompleteThrough is the time up to which the server's index has all messages: those of the named intent, or of all. It is zero while
	// there is no such time. CompleteFrom is the time from which it has those of the named intent; it is zero for the beginning.
	CompleteThrough, CompleteFrom time.Time
	// MessagesLeft is how many messages of the named intent are not indexed yet, at most. Search again: they are being indexed, the newest
	// first.
	MessagesLeft int64
	// IntentsNotIndexed is how many of the intents that the client may search are not wholly indexed, if the search names none. A search
	// that names one has it indexed.
	IntentsNotIndexed int
	// Bounded tells that the page ended because the server had looked at as many messages as one page may. There may be more to find.
	Bounded bool
}

// SearchMessages finds messages by words, all of which must occur, and "phrases" in double quotes, among those that the client may see.
func (c *Client) SearchMessages(ctx context.Context, query string, options SearchOptions) (*SearchPage, error) {
	request := &openintentv1.SearchMessagesRequest{
		Q: query, IntentId: optional(options.IntentID), ChannelId: optional(options.ChannelID),
		ThreadId: optional(options.ThreadID), Sender: optional(options.Sender), To: optional(options.To),
		Kind: optional(options.Kind), Cursor: optional(options.Cursor),
	}
	if options.Limit > 0 {
		limit := int32(options.Limit)
		request.Limit = &limit
	}
	if !options.After.IsZero() {
		request.After = timestamppb.New(options.After)
	}
	if !options.Before.IsZero() {
		request.Before = timestamppb.New(options.Before)
	}
	found, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.SearchMessagesResponse, error) {
		return c.raw.Search.SearchMessages(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	page := &SearchPage{
		NextCursor: found.GetNextCursor(), Bounded: found.GetBounded(),
		MessagesLeft: found.GetMessagesLeft(), IntentsNotIndexed: int(found.GetIntentsNotIndexed()),
	}
	if found.GetCompleteThrough() != nil {
		page.CompleteThrough = found.GetCompleteThrough().AsTime()
	}
	if found.GetCompleteFrom() != nil {
		page.CompleteFrom = found.GetCompleteFrom().AsTime()
	}
	for _, one := range found.GetMessages() {
		page.Messages = append(page.Messages, FoundMessage{
			Message: c.message(one.GetMessage()), Snippet: one.GetSnippet(), IntentID: one.GetIntentId(), ChannelName: one.GetChannelName(),
		})
	}
	return page, nil
}
