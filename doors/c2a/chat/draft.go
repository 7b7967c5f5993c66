package chat

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// What a sender may choose: where its message is seen, and how far its recipient will see it as meant for itself.
const (
	visibleDM        = "dm"
	visibleThread    = "thread"
	visibleChannel   = "channel"
	visibleEphemeral = "ephemeral"

	toMe     = "to_me"
	toMyRole = "to_my_role"
	ambient  = "ambient"
)

var (
	errEphemeral = fault.New(fault.Invalid, "VISIBILITY_NOT_SUPPORTED",
		"The visibility ephemeral is not supported, because messages are stored here; choose dm, thread or channel.")
	errToOther = fault.BadField("directedness", "must be how the recipient will see it: to_me, to_my_role or ambient.")
)

// draft returns the message that the arguments describe, when it is no answer to a request. A `dm` that is `to_me` is a request, and
// anything else a notify. A recipient of what others see too is mentioned in it, and nobody else is: a mention makes an obligation, so
// none comes from a name in the text.
func (a *sendArguments) draft(payload *structpb.Struct) (*openintentv1.SendMessageRequest, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	request := &openintentv1.SendMessageRequest{
		ChannelId: a.Target.ConversationID, Payload: payload, IdempotencyKey: &a.IdempotencyKey, Mentions: &structpb.ListValue{},
	}
	if a.Target.ThreadID != "" {
		request.ParentId = new(MessageOf(a.Target.ThreadID))
	}
	recipient := strings.TrimPrefix(a.Target.Recipient, agentPrefix)
	switch {
	case a.Visibility == visibleDM:
		request.To = &recipient
		if a.Directedness == toMe {
			request.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
		}
	case recipient != "" && a.Directedness != ambient:
		request.Mentions.Values = []*structpb.Value{structpb.NewStringValue(recipient)}
	}
	if a.Directedness == ambient {
		request.Directedness = openintentv1.Directedness_DIRECTEDNESS_AMBIENT.Enum()
		request.Policy = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND.Enum()
	}
	return request, nil
}

// checkWords refuses words that the drafts do not have for visibility and directedness, and what cannot be kept here. It is asked about
// every message, an answer too.
func (a *sendArguments) checkWords() error {
	switch {
	case a.Visibility == visibleEphemeral:
		return errEphemeral
	case a.Visibility != visibleDM && a.Visibility != visibleThread && a.Visibility != visibleChannel:
		return fault.BadField("visibility", "must be dm, thread or channel.")
	case a.Directedness != toMe && a.Directedness != toMyRole && a.Directedness != ambient:
		return errToOther
	}
	return nil
}

// check refuses choices that do not go together in a message that is no answer to a request.
func (a *sendArguments) check() error {
	role := strings.HasPrefix(a.Target.Recipient, rolePrefix)
	switch {
	case a.Target.ConversationID == "":
		return fault.BadField("target.conversationId", "is missing; it is the conversation to send to.")
	case a.Visibility == visibleDM && (a.Target.Recipient == "" || role):
		return fault.BadField("target.recipient", "must be one agent for a dm, such as agent:bob.")
	case a.Visibility == visibleDM && a.Directedness == toMyRole:
		return fault.BadField("directedness", "of a dm must be to_me or ambient; a role is addressed on a channel or in a thread.")
	case a.Visibility == visibleThread && a.Target.ThreadID == "" && a.InReplyTo == "":
		return fault.BadField("target.threadId", "or inReplyTo must be given for the visibility thread.")
	case a.Directedness == toMe && (a.Target.Recipient == "" || role):
		return fault.BadField("target.recipient", "must be one agent for to_me, such as agent:bob.")
	case a.Directedness == toMyRole && a.Visibility == visibleChannel && !role:
		return fault.BadField("target.recipient", "must be a role for to_my_role on a channel, such as role:reviewer.")
	}
	return nil
}
