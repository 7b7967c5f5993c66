package chat

import (
	"context"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

// readThread shows the thread of an event with its reactions and who holds the claim on it, or the newest of a conversation.
var readThread = newTool("chat.read_thread", "Read the thread of an event, or a conversation window. This is how to pull what a knock withholds.",
	ofEvent+`,"conversationId":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100},"cursor":{"type":"string"},`+textLimit,
	nil,
	func(ctx context.Context, caller *doors.Caller, given threadArguments) (any, error) {
		list := listArguments{ConversationID: given.ConversationID, Limit: given.Limit, shortened: given.shortened}
		limit, err := list.limit()
		switch {
		case err != nil:
			return nil, err
		case (given.InReplyTo == "") == (given.ConversationID == ""):
			return nil, fault.BadField("inReplyTo", "or conversationId must be given, and one of the two alone.")
		case given.ConversationID != "":
			list.Since = given.Cursor
			window, err := listConversation(ctx, caller, list, limit)
			window.NextCursor, window.NextSince = window.NextSince, ""
			return window, err
		}
		return threadOf(ctx, caller, given, limit)
	}).reading()

type threadArguments struct {
	InReplyTo      string `json:"inReplyTo"`
	ConversationID string `json:"conversationId"`
	Limit          *int32 `json:"limit"`
	Cursor         string `json:"cursor"`
	shortened
}

// threadAnswer is a part of a thread, oldest first. Its first event is on the first page alone.
type threadAnswer struct {
	Events     []shownEvent    `json:"events"`
	Claim      *threadClaim    `json:"claim,omitempty"`
	Reactions  []shownReaction `json:"reactions,omitempty"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type threadClaim struct {
	Holder    string `json:"holder"`
	ExpiresAt string `json:"expiresAt"`
}

type shownReaction struct {
	EventID string `json:"eventId"`
	From    string `json:"from"`
	Signal  string `json:"signal"`
	Note    string `json:"note,omitempty"`
	ETA     string `json:"eta,omitempty"`
}

func threadOf(ctx context.Context, caller *doors.Caller, given threadArguments, limit int) (any, error) {
	message, err := messageOf(ctx, caller, given.InReplyTo)
	if err != nil {
		return nil, err
	}
	thread, err := caller.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), Limit: new(int32(limit)), Cursor: optional.Text(given.Cursor),
	})
	if err != nil {
		return nil, err
	}
	messages := thread.GetMessages()
	if thread.GetRoot() != nil && given.Cursor == "" {
		messages = append([]*openintentv1.Message{thread.GetRoot()}, messages...)
	}
	room, err := given.room(len(messages))
	if err != nil {
		return nil, err
	}
	answer := threadAnswer{Events: []shownEvent{}, NextCursor: thread.GetNextCursor()}
	for _, m := range messages {
		answer.Events = append(answer.Events, shown(caller.Agent, Entry{Message: m}, room))
	}
	if held := thread.GetClaim(); held != nil {
		answer.Claim = &threadClaim{held.GetHolder(), moment(held.GetExpiresAt())}
	}
	for _, r := range thread.GetReactions() {
		answer.Reactions = append(answer.Reactions, shownReaction{r.GetMessageId(), r.GetAgentId(), r.GetSignal(), r.GetNote(), r.GetEta()})
	}
	return answer, nil
}
