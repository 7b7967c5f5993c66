package mcp

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// inbox lists what waits for the caller.
var inbox = newTool(reads, "inbox", "What waits for you, oldest first, and what each message asks of you. "+othersWords,
	`"policy":{"type":"string","enum":["must_respond","may_respond","ack_only","must_not_respond"]},"limit":{"type":"integer"},`+cursorProperty,
	nil,
	func(ctx context.Context, s *session, given inboxArguments) (any, error) {
		answer, err := s.inbox(ctx, given)
		if err == nil {
			_, err = s.handOver(ctx, answer.Messages)
		}
		return answer, err
	})

type inboxArguments struct {
	Policy string  `json:"policy"`
	Limit  *int32  `json:"limit"`
	Cursor *string `json:"cursor"`
}

// messagesAnswer is a page of messages. Cursor leads on from the last of them.
type messagesAnswer struct {
	Messages []messageAnswer `json:"messages"`
	Cursor   string          `json:"cursor,omitempty"`
	// Of the whole inbox, and of what the caller owes.
	Unread     int64 `json:"unread,omitempty"`
	Unanswered int64 `json:"unanswered,omitempty"`
	Owed       int   `json:"owed,omitempty"`
	MoreOwed   bool  `json:"more_owed,omitempty"`
	// CountsBounded says that there may be more unread or unanswered messages than were counted.
	CountsBounded bool `json:"counts_bounded,omitempty"`
}

// inbox returns a page of the caller's inbox, and how much waits for it in all.
func (s *session) inbox(ctx context.Context, given inboxArguments) (messagesAnswer, error) {
	answer, err := s.inboxPage(ctx, given)
	if err == nil {
		answer.Owed, answer.MoreOwed, err = s.owed(ctx)
	}
	return answer, err
}

// mostInboxPages is how many pages of the inbox one call reads while they are empty because each looked at enough messages.
const mostInboxPages = 10

// inboxPages returns the first page of the inbox that is not empty. It leaves the page's cursor in the request.
func (s *session) inboxPages(ctx context.Context, request *openintentv1.GetInboxRequest) (*openintentv1.Inbox, error) {
	page, err := s.caller.Messages.GetInbox(ctx, request)
	for n := 1; err == nil && n < mostInboxPages && len(page.GetItems()) == 0 && page.NextCursor != nil; n++ {
		request.Cursor = page.NextCursor
		page, err = s.caller.Messages.GetInbox(ctx, request)
	}
	return page, err
}

// inboxPage returns a page of the caller's inbox.
func (s *session) inboxPage(ctx context.Context, given inboxArguments) (messagesAnswer, error) {
	request := &openintentv1.GetInboxRequest{
		AgentId: s.caller.Agent, Limit: limit(given.Limit), Cursor: given.Cursor, Include: []string{"attention"},
	}
	if given.Policy != "" {
		number, known := openintentv1.ResponsePolicy_value["RESPONSE_POLICY_"+strings.ToUpper(given.Policy)]
		if !known || number == 0 {
			return messagesAnswer{}, fault.BadField("policy", "must be must_respond, may_respond, ack_only or must_not_respond.")
		}
		request.Policy = []openintentv1.ResponsePolicy{openintentv1.ResponsePolicy(number)}
	}
	page, err := s.inboxPages(ctx, request)
	if err != nil {
		return messagesAnswer{}, err
	}
	answer := messagesAnswer{
		Messages: []messageAnswer{}, Unread: page.GetUnreadCount(), Unanswered: page.GetUnansweredCount(), Cursor: page.GetNextCursor(),
		CountsBounded: page.GetCountsBounded(),
	}
	for _, item := range page.GetItems() {
		answer.Messages = append(answer.Messages, shown(item.GetMessage(), item.GetAttention(), payloadRoom))
	}
	if fit := len(thoseThatFit(answer.Messages, false)); given.Limit == nil && fit < len(answer.Messages) {
		given.Limit, given.Cursor = new(int32(fit)), request.Cursor // so that the cursor leads on from the last message that is shown
		return s.inboxPage(ctx, given)
	}
	return answer, nil
}

// limit returns how many messages a page has: as many as asked for, or few.
func limit(asked *int32) *int32 {
	if asked != nil {
		return asked
	}
	return new(int32(messagesShown))
}
