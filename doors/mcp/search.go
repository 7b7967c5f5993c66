package mcp

import (
	"cmp"
	"context"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

const (
	// foundShown is how many messages an answer to a query holds unless its caller asks for more, and snippetRoom how many bytes of the
	// text of each.
	foundShown  = 5
	snippetRoom = 240
)

// foundAnswer is what a query has found, the newest first. Each message has the text around what was found in place of its payload.
type foundAnswer struct {
	// Incomplete says that the index lacks messages in which the words may occur.
	Incomplete bool            `json:"index_incomplete,omitempty"`
	Cursor     string          `json:"cursor,omitempty"`
	Messages   []messageAnswer `json:"messages"`
}

// search shows the messages that have the words of a query: everywhere, in a channel, or in the thread of a message.
func (s *session) search(ctx context.Context, given readArguments) (any, error) {
	if given.Message != "" {
		return nil, fault.BadField("message", "goes without query; query looks everywhere, in a channel, or in a thread.")
	}
	request := &openintentv1.SearchMessagesRequest{
		Q: given.Query, ChannelId: optional.Text(given.Channel), Cursor: optional.Text(given.Cursor), Limit: cmp.Or(given.Limit, new(int32(foundShown))),
	}
	if given.Thread != "" {
		message, err := s.message(ctx, given.Thread)
		if err != nil {
			return nil, err
		}
		request.ThreadId = new(cmp.Or(message.GetThreadId(), message.GetCorrelationId(), message.GetId()))
	}
	page, err := s.caller.Search.SearchMessages(ctx, request)
	if err != nil {
		return nil, err
	}
	answer := foundAnswer{Incomplete: doors.IndexIncomplete(page), Cursor: page.GetNextCursor(), Messages: []messageAnswer{}}
	for _, found := range page.GetMessages() {
		row := shown(found.GetMessage(), nil, 0)
		snippet := doors.Beginning(found.GetSnippet(), snippetRoom)
		row.Text, row.Payload, row.Begin, row.Cut = &snippet, nil, "", 0
		answer.Messages = append(answer.Messages, row)
	}
	return answer, nil
}
