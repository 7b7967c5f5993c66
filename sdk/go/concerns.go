package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// ConcernKind says what a concern is about.
type ConcernKind string

// These are the kinds.
const (
	// ConcernQuestion: an open request to this agent, or to its role, waits for an answer.
	ConcernQuestion ConcernKind = "question"
	// ConcernObligation: this agent owes something that can no longer just be answered, or was told that somebody else does.
	ConcernObligation ConcernKind = "obligation"
	// ConcernUnanswered: nobody has taken up a request for long.
	ConcernUnanswered ConcernKind = "unanswered"
	// ConcernUnreachable: a request waits for an agent that has no way to hear of it.
	ConcernUnreachable ConcernKind = "unreachable"
	// ConcernDeadLetters: a subscription has dead letters.
	ConcernDeadLetters ConcernKind = "dead_letters"
	// ConcernWebhook: a webhook takes nothing any more.
	ConcernWebhook ConcernKind = "webhook"
	// ConcernBrake: agents are braked, because they have set each other to work too often.
	ConcernBrake ConcernKind = "brake"
	// ConcernHolderLost: a task waits for an agent that is presumed dead.
	ConcernHolderLost ConcernKind = "holder_lost"
)

var concernKinds = wordsOf(map[openintentv1.ConcernKind]ConcernKind{
	openintentv1.ConcernKind_CONCERN_KIND_QUESTION:     ConcernQuestion,
	openintentv1.ConcernKind_CONCERN_KIND_OBLIGATION:   ConcernObligation,
	openintentv1.ConcernKind_CONCERN_KIND_UNANSWERED:   ConcernUnanswered,
	openintentv1.ConcernKind_CONCERN_KIND_UNREACHABLE:  ConcernUnreachable,
	openintentv1.ConcernKind_CONCERN_KIND_DEAD_LETTERS: ConcernDeadLetters,
	openintentv1.ConcernKind_CONCERN_KIND_WEBHOOK:      ConcernWebhook,
	openintentv1.ConcernKind_CONCERN_KIND_BRAKE:        ConcernBrake,
	openintentv1.ConcernKind_CONCERN_KIND_HOLDER_LOST:  ConcernHolderLost,
})

var concernActions = wordsOf(map[openintentv1.ConcernAction]string{
	openintentv1.ConcernAction_CONCERN_ACTION_ANSWER:    "answer",
	openintentv1.ConcernAction_CONCERN_ACTION_CLAIM:     "claim",
	openintentv1.ConcernAction_CONCERN_ACTION_DECLINE:   "decline",
	openintentv1.ConcernAction_CONCERN_ACTION_DEFER:     "defer",
	openintentv1.ConcernAction_CONCERN_ACTION_DISCHARGE: "discharge",
	openintentv1.ConcernAction_CONCERN_ACTION_WITHDRAW:  "withdraw",
	openintentv1.ConcernAction_CONCERN_ACTION_INVITE:    "invite",
	openintentv1.ConcernAction_CONCERN_ACTION_REDRIVE:   "redrive",
	openintentv1.ConcernAction_CONCERN_ACTION_DROP:      "drop",
	openintentv1.ConcernAction_CONCERN_ACTION_LIFT:      "lift",
	openintentv1.ConcernAction_CONCERN_ACTION_REASSIGN:  "reassign",
})

// ConcernOptions narrow a list of concerns. What is empty or zero narrows nothing.
type ConcernOptions struct {
	Kind     ConcernKind
	IntentID string
	// AgentID leaves the concerns that name this agent.
	AgentID string
	// Limit is how many concerns a page has at most, up to 100, which is also what zero means.
	Limit int
	// Cursor is NextCursor of the page before.
	Cursor string
}

// Concern is something that needs somebody. What does not apply, or is not for this client to know, is empty.
type Concern struct {
	// ID is the same as long as the concern lasts.
	ID   string
	Kind ConcernKind
	// Since is since when; for requests, when they were sent.
	Since time.Time
	// IntentID and the other ids are what the concern is about.
	IntentID, ChannelID, MessageID, AgentID, SubscriptionID, TaskID string
	// Summary is one sentence for people.
	Summary string
	// Actions are words for what this client may do about it now, such as "answer"; docs/concerns.md says by which calls.
	Actions []string
}

// ConcernPage is a page of concerns, the oldest first.
type ConcernPage struct {
	Concerns []Concern
	// NextCursor goes on; it is empty on the last page. A page may be empty and not the last.
	NextCursor string
}

// Concerns lists what needs this agent: its own concerns, those of intents to which it has admin access, and for the operator all.
func (c *Client) Concerns(ctx context.Context, options ConcernOptions) (*ConcernPage, error) {
	request := &openintentv1.ListConcernsRequest{
		IntentId: optional(options.IntentID), AgentId: optional(options.AgentID), Cursor: optional(options.Cursor), Limit: countOf(options.Limit),
	}
	if number := concernKinds.number(options.Kind); number != nil {
		request.Kind = *number
	}
	found, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.ListConcernsResponse, error) {
		return c.raw.Concerns.ListConcerns(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	page := &ConcernPage{NextCursor: found.GetNextCursor()}
	for _, one := range found.GetConcerns() {
		page.Concerns = append(page.Concerns, concernOf(one))
	}
	return page, nil
}

func concernOf(wire *openintentv1.Concern) Concern {
	one := Concern{
		ID: wire.GetId(), Kind: concernKinds.word(wire.GetKind()), Since: timeOf(wire.GetSince()), IntentID: wire.GetIntentId(),
		ChannelID: wire.GetChannelId(), MessageID: wire.GetMessageId(), AgentID: wire.GetAgentId(), SubscriptionID: wire.GetSubscriptionId(),
		TaskID: wire.GetTaskId(), Summary: wire.GetSummary(),
	}
	for _, action := range wire.GetActions() {
		one.Actions = append(one.Actions, concernActions.word(action))
	}
	return one
}
