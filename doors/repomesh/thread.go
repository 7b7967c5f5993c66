package repomesh

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// eventThread shows a message with everything in its thread, and who has read it.
var eventThread = newAction("event.thread", "A message in full, its thread, its reactions and, if it is yours, who has read it.",
	[]string{"message_id"}, []property{text("message_id"), whole("limit"), text("cursor"), yes("include_payload")},
	func(ctx context.Context, s *session, given threadArguments) (any, error) {
		m, err := s.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: anyChannel, MessageId: given.MessageID})
		if err != nil {
			return nil, err
		}
		limit := int32(defaultPage)
		if given.Limit != nil {
			limit = *given.Limit
		}
		thread, err := s.caller.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(), Limit: &limit, Cursor: given.Cursor,
		})
		if err != nil {
			return nil, err
		}
		answer := &threadAnswer{Message: eventOf(m, "", max(s.room, wholeMessage)), Items: []*event{}, Next: thread.GetNextCursor()}
		s.show(answer, thread)
		if given.Payload != nil && !*given.Payload {
			for _, e := range answer.Items {
				e.Payload = nil
			}
		}
		if m.GetSender() == s.caller.Agent {
			answer.Receipts, err = s.receipts(ctx, m)
		}
		return answer, err
	}).by().anyone()

// wholeMessage is how many bytes of a message's content its thread shows to a model.
const wholeMessage = 32 << 10

type threadArguments struct {
	repeats
	MessageID string  `json:"message_id"`
	Limit     *int32  `json:"limit"`
	Cursor    *string `json:"cursor"`
	// Payload is false if the thread's messages shall come without their payloads.
	Payload *bool `json:"include_payload"`
}

type threadAnswer struct {
	Message *event `json:"message"`
	// Events and Items are the thread's messages, the first one before the others; a model gets Items alone.
	Events    *[]*event  `json:"events,omitempty"`
	Items     []*event   `json:"items"`
	Count     int        `json:"count"`
	Reactions []reaction `json:"reactions,omitempty"`
	Receipts  *receipts  `json:"receipts,omitempty"`
	// Claim is who works on the thread, or on the request with which it begins.
	ClaimedBy string `json:"claimed_by,omitempty"`
	Next      string `json:"next,omitempty"`
}

type reaction struct {
	MessageID string `json:"message_id"`
	AgentID   string `json:"agent_id"`
	Signal    string `json:"signal"`
	Note      string `json:"note,omitempty"`
}

// receipts are who has read a message. Others of its recipients may have read more than the first page says.
type receipts struct {
	MessageID string    `json:"message_id"`
	ReadBy    []receipt `json:"read_by"`
	More      bool      `json:"more,omitempty"`
}

type receipt struct {
	AgentID string `json:"agent_id"`
	ReadAt  string `json:"read_at"`
}

// show puts a thread into an answer.
func (s *session) show(answer *threadAnswer, thread *openintentv1.Thread) {
	if thread.GetRoot() != nil {
		answer.Items = append(answer.Items, eventOf(thread.GetRoot(), "", s.room))
	}
	for _, m := range thread.GetMessages() {
		answer.Items = append(answer.Items, eventOf(m, "", s.room))
	}
	if answer.Count = len(answer.Items); !s.model {
		answer.Events = &answer.Items
	}
	for _, r := range thread.GetReactions() {
		answer.Reactions = append(answer.Reactions, reaction{r.GetMessageId(), r.GetAgentId(), r.GetSignal(), r.GetNote()})
	}
	answer.ClaimedBy = thread.GetClaim().GetHolder()
}

// mostReceipts is how many recipients of a message an answer tells of.
const mostReceipts = 200

// receipts returns who has read a message of the caller.
func (s *session) receipts(ctx context.Context, m *openintentv1.Message) (*receipts, error) {
	page, err := s.caller.Messages.ListMessageDeliveries(ctx, &openintentv1.ListMessageDeliveriesRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), Limit: new(int32(mostReceipts)),
	})
	if err != nil {
		return nil, err
	}
	answer := &receipts{MessageID: m.GetId(), ReadBy: []receipt{}, More: page.NextCursor != nil}
	for _, delivery := range page.GetDeliveries() {
		if delivery.GetReadAt() != nil {
			answer.ReadBy = append(answer.ReadBy, receipt{delivery.GetAgentId(), stamp(delivery.GetReadAt())})
		}
	}
	return answer, nil
}
