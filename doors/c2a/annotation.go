package c2a

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// eventOfAnnotation returns the event that something makes that happened to a message, and tells the harness of what ends an event. It
// returns nil where there is no event.
func (c *connection) eventOfAnnotation(ctx context.Context, made *openintentv1.SubscriptionDelivery) (*delivery, error) {
	a := made.GetAnnotation()
	switch {
	case a.GetAgentId() == c.caller.Agent:
		return nil, nil // the agent did it itself
	case a.GetType() == "message_deleted":
		return nil, c.cancel(ctx, a.GetMessageId(), "Message was deleted")
	}
	m, err := c.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: a.GetChannelId(), MessageId: a.GetMessageId()})
	switch {
	case status.Code(err) == codes.NotFound || status.Code(err) == codes.PermissionDenied:
		return nil, nil // it is gone, or not for this agent any more
	case err != nil:
		return nil, err
	}
	own := m.GetSender() == c.caller.Agent
	switch a.GetType() {
	case "message_reaction":
		if own && a.GetChange() == "added" {
			return c.reaction(made, m), nil
		}
	case "message_edited":
		if !own && m.DeletedAt == nil {
			return c.edit(ctx, made, m)
		}
	case "obligation_discharged":
		if !own {
			return nil, c.cancel(ctx, m.GetId(), "Request was discharged")
		}
	}
	return nil, nil
}

// answerable are the signals that ask for something of whoever wrote the message. No other reaction is to be answered, so that two agents
// do not thank each other for ever.
var answerable = map[string]bool{"declined": true, "blocked": true, "unclear": true}

// reaction returns the event of a reaction to one of the agent's own messages: a knock, without the note, which is another agent's text.
func (c *connection) reaction(made *openintentv1.SubscriptionDelivery, m *openintentv1.Message) *delivery {
	a := made.GetAnnotation()
	attention := &openintentv1.Attention{
		Directedness: openintentv1.Directedness_DIRECTEDNESS_TO_ME, Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND,
		Injection: openintentv1.Injection_INJECTION_NOTIFY, Reason: "reaction", Priority: openintentv1.Priority_PRIORITY_NORMAL,
	}
	if answerable[a.GetSignal()] {
		attention.Policy = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND
	}
	subject := a.GetSignal() + " on your message in " + made.GetChannelName()
	attention.Knock = &openintentv1.Knock{Where: made.GetChannelName(), Topic: subject}
	stands := &openintentv1.Message{ // for the reaction, which is none
		Id: chat.AnnotationID(m.GetId(), a.GetPosition()), ChannelId: m.GetChannelId(), Sender: a.GetAgentId(), To: &c.caller.Agent,
		ThreadId: m.ThreadId, CreatedAt: a.GetCreatedAt(), Subject: &subject,
	}
	d := c.terms.deliveryOf(c.caller.Agent, chat.Entry{
		Message: stands, Attention: attention, IntentID: made.GetIntentId(), Position: made.GetPosition(),
	}, made.GetChannelName(), made.GetAttempt())
	d.event.Conversation.Kind = chat.KindChannel
	if d.event.Conversation.ThreadID != "" {
		d.event.Conversation.Kind = chat.KindThread
	}
	return &d
}

// edit returns the event of an edit, and cancels the one with the content that the edit replaced, unless that was answered. An edit that a
// further one has replaced makes no event, and neither does one whose content the harness got with the message. An event that was not
// acknowledged comes again.
func (c *connection) edit(ctx context.Context, made *openintentv1.SubscriptionDelivery, m *openintentv1.Message) (*delivery, error) {
	revision := made.GetAnnotation().GetRevision()
	if m.GetRevision() > revision || made.GetAttempt() <= 1 && c.handedOut.revision(m.GetId()) >= revision {
		return nil, nil
	}
	judged, err := c.caller.Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
	if err != nil || judged.Policy == nil {
		if code := status.Code(err); code == codes.NotFound || code == codes.PermissionDenied {
			err = nil
		}
		return nil, err
	}
	event := chat.EditID(m.GetId(), revision)
	if err := c.cancelReplaced(ctx, m, event, judged.GetReason()); err != nil {
		return nil, err
	}
	c.handedOut.note(m, event)
	d := c.terms.deliveryOf(c.caller.Agent, chat.Entry{
		Message: m, IntentID: made.GetIntentId(), Position: made.GetPosition(), Attention: &openintentv1.Attention{
			Directedness: judged.GetDirectedness(), Policy: judged.GetPolicy(), Injection: judged.GetInjection(), Reason: judged.GetReason(),
			Priority: judged.GetPriority(), DeadlineMs: judged.DeadlineMs, Knock: judged.GetKnock(),
		},
	}, made.GetChannelName(), made.GetAttempt())
	d.event.EventID = event
	return &d, nil
}

// cancelReplaced cancels the events with contents that an edit replaced, in whose place the harness gets another event. One that was answered
// is over as it is.
func (c *connection) cancelReplaced(ctx context.Context, m *openintentv1.Message, by, reason string) error {
	replaced := c.handedOut.end(m.GetId(), by)
	if reason == "edited_after_response" {
		return nil
	}
	return c.cancelEvents(ctx, replaced, "Message was edited before response")
}
