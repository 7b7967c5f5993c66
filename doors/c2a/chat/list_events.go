package chat

import (
	"context"
	"strings"
	"time"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

const (
	// listed is how many events a list shows unless its caller asks for another number, and mostListed the most that it may ask for.
	listed, mostListed = 20, 100
	// inboxPages is how many pages of the inbox one call reads at most, however few events on them are wanted.
	inboxPages = 10
)

// listEvents lists what waits for the caller or, with a conversation and no policy, what was said there.
var listEvents = newTool("chat.list_events",
	"List chat events available to this session, filtered by stream, conversation, policy, or time: those that wait for you, or with a "+
		"conversation and no policy, all that was said there.",
	`"streamId":{"type":"string"},"conversationId":{"type":"string"},`+
		`"policy":{"enum":["must_respond","may_respond","ack_only","must_not_respond"]},`+
		`"since":{"type":"string","description":"a time; in a conversation also an eventId"},`+
		`"limit":{"type":"integer","minimum":1,"maximum":100},"cursor":{"type":"string"},`+textLimit,
	nil,
	func(ctx context.Context, caller *doors.Caller, given listArguments) (any, error) {
		limit, err := given.limit()
		if err != nil {
			return nil, err
		}
		if given.ConversationID != "" && given.Policy == "" && given.Cursor == "" {
			return listConversation(ctx, caller, given, limit)
		}
		return listWaiting(ctx, caller, given, limit)
	}).reading()

type listArguments struct {
	StreamID       string `json:"streamId"`
	ConversationID string `json:"conversationId"`
	Policy         string `json:"policy"`
	Since          string `json:"since"`
	Limit          *int32 `json:"limit"`
	Cursor         string `json:"cursor"`
	shortened
}

func (a *listArguments) limit() (int, error) {
	switch {
	case a.Limit == nil:
		return listed, nil
	case *a.Limit < 1 || *a.Limit > mostListed:
		return 0, fault.BadField("limit", "must be from 1 to %d.", mostListed)
	}
	return int(*a.Limit), nil
}

// since returns where a conversation goes on: a time as it is, and the message of an event.
func (a *listArguments) since() string {
	if _, err := time.Parse(time.RFC3339, a.Since); err == nil {
		return a.Since
	}
	return MessageOf(a.Since)
}

// eventsAnswer is a page of events. NextCursor leads on in the inbox, and NextSince in a conversation.
type eventsAnswer struct {
	Events     []shownEvent `json:"events"`
	NextCursor string       `json:"nextCursor,omitempty"`
	NextSince  string       `json:"nextSince,omitempty"`
}

// listConversation shows what was said in a conversation after an event or a time, or else the newest of it.
func listConversation(ctx context.Context, caller *doors.Caller, given listArguments, limit int) (answer eventsAnswer, _ error) {
	page, err := caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: given.ConversationID, Since: optional.Text(given.since()), Limit: new(int32(limit)),
	})
	if err != nil {
		return answer, err
	}
	room, err := given.room(len(page.GetMessages()))
	if err != nil {
		return answer, err
	}
	answer = eventsAnswer{Events: []shownEvent{}, NextSince: page.GetNextSince()}
	for _, m := range page.GetMessages() {
		answer.Events = append(answer.Events, shown(caller.Agent, Entry{Message: m}, room))
	}
	return answer, nil
}

// listWaiting shows what waits in the caller's inbox. A page of the inbox ends with a cursor; one that holds more than is wanted is read
// again with a smaller limit, so that the cursor leads on from the last event that is shown.
func listWaiting(ctx context.Context, caller *doors.Caller, given listArguments, limit int) (any, error) {
	wanted, err := given.wanted()
	if err != nil {
		return nil, err
	}
	request := &openintentv1.GetInboxRequest{AgentId: caller.Agent, Cursor: optional.Text(given.Cursor), Include: []string{"attention"}}
	if given.Policy != "" {
		policy := openintentv1.ResponsePolicy_value["RESPONSE_POLICY_"+strings.ToUpper(given.Policy)]
		if policy == 0 {
			return nil, fault.BadField("policy", "must be must_respond, may_respond, ack_only or must_not_respond.")
		}
		request.Policy = []openintentv1.ResponsePolicy{openintentv1.ResponsePolicy(policy)}
	}
	room, err := given.room(limit)
	if err != nil {
		return nil, err
	}
	answer := eventsAnswer{Events: []shownEvent{}}
	for range inboxPages {
		request.Limit = new(int32(limit - len(answer.Events)))
		page, err := caller.Messages.GetInbox(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, item := range page.GetItems() {
			if wanted(item) {
				entry := Entry{Message: item.GetMessage(), Attention: item.GetAttention(), IntentID: item.GetIntentId()}
				answer.Events = append(answer.Events, shown(caller.Agent, entry, room))
			}
		}
		answer.NextCursor = page.GetNextCursor()
		if request.Cursor = optional.Text(answer.NextCursor); request.Cursor == nil || len(answer.Events) == limit {
			break
		}
	}
	return answer, nil
}

// wanted returns which items of the inbox the arguments leave.
func (a *listArguments) wanted() (func(*openintentv1.InboxItem) bool, error) {
	var since time.Time
	if a.Since != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, a.Since); err != nil {
			return nil, fault.BadField("since", "must be a time as in RFC 3339, such as 2030-01-01T13:00:00Z; an eventId goes together with "+
				"a conversationId and no policy.")
		}
	}
	return func(item *openintentv1.InboxItem) bool {
		m := item.GetMessage()
		return (a.StreamID == "" || a.StreamID == item.GetIntentId()) &&
			(a.ConversationID == "" || a.ConversationID == m.GetChannelId()) && m.GetCreatedAt().AsTime().After(since)
	}, nil
}
