package openintent

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// Draft is a message to send.
type Draft struct {
	// To is an agent, "role:" with a role, or "*"; "" means everyone.
	To string
	// Payload is a map, or any value that encoding/json writes as an object.
	Payload any
	// MessageType is Notify when it is empty.
	MessageType MessageType
	// CorrelationID is the id of the request that a response answers.
	CorrelationID string
	Metadata      map[string]any
	// ExpiresAt is when the message expires; zero means never.
	ExpiresAt time.Time
	// Sender names another agent as the sender, which only the operator may do.
	Sender string
	// IdempotencyKey is made by the client when it is empty.
	IdempotencyKey string
	// Document makes it the present content of the channel's document that is called Kind. It is kept however many messages come after it.
	Document bool
	// Replaces is the message that must be the document's content now, "" if there must be none; nil for whichever is. If another one is, the
	// error has the reason "DOCUMENT_CHANGED".
	Replaces *string
	Conversation
}

// Reply is an answer to a request. The server knows its parent, so that ParentID is empty or the request, and Collect and Obligation are empty.
type Reply struct {
	Payload  any
	Metadata map[string]any
	// Fence is that of the claim on a request that takes an exact number of answers; 0 for none.
	Fence int64
	// Sender names another agent as the sender, which only the operator may do.
	Sender string
	// IdempotencyKey is made by the client when it is empty.
	IdempotencyKey string
	Conversation
}

// Selection selects the messages to list; its zero value lists the newest.
type Selection struct {
	// Since lists the messages after this message's id, or after an RFC 3339 time.
	Since string
	// To lists the messages that have this agent as a recipient.
	To string
	// Limit is 1 to 1,000; 1,000 when it is 0.
	Limit         int
	MessageType   MessageType
	CorrelationID string
	// ThreadID lists the messages of the thread that this message began, and itself.
	ThreadID string
}

// SendMessage sends a message.
func (c *Client) SendMessage(ctx context.Context, channelID string, draft Draft) (*Message, error) {
	payload, metadata, err := encodeBoth(draft.Payload, draft.Metadata)
	if err != nil {
		return nil, err
	}
	ctx, metadata, end := c.spanned(ctx, "openintent.send", metadata)
	request := &openintentv1.SendMessageRequest{
		ChannelId: channelID, Sender: optional(draft.Sender), To: optional(draft.To),
		MessageType: messageTypes.number(draft.MessageType), CorrelationId: optional(draft.CorrelationID),
		Payload: payload, Metadata: metadata, ExpiresAt: stampOf(draft.ExpiresAt), IdempotencyKey: keyOf(draft.IdempotencyKey),
		ParentId: optional(draft.ParentID), Subject: optional(draft.Subject), Kind: optional(draft.Kind), TaskId: optional(draft.TaskID),
		Priority: priorities.number(draft.Priority), Mentions: mentionsOf(draft.Mentions), Collect: draft.Collect.Value(),
		Obligation:   draft.Obligation.wire(),
		Directedness: directednesses.number(draft.Directedness), Policy: policies.number(draft.Policy),
		Replaces: draft.Replaces,
	}
	if draft.Document {
		request.Document = &draft.Document
	}
	sent, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.SendMessage(ctx, request)
	})
	end(err)
	if err != nil {
		return nil, err
	}
	return c.message(sent), nil
}

// ReplyTo answers a request.
func (c *Client) ReplyTo(ctx context.Context, channelID, messageID string, reply Reply) (*Message, error) {
	payload, metadata, err := encodeBoth(reply.Payload, reply.Metadata)
	if err != nil {
		return nil, err
	}
	ctx, metadata, end := c.spanned(ctx, "openintent.reply", metadata)
	request := &openintentv1.ReplyMessageRequest{
		ChannelId: channelID, MessageId: messageID, Sender: optional(reply.Sender),
		Payload: payload, Metadata: metadata, IdempotencyKey: keyOf(reply.IdempotencyKey),
		ParentId: optional(reply.ParentID), Subject: optional(reply.Subject), Kind: optional(reply.Kind), TaskId: optional(reply.TaskID),
		Priority: priorities.number(reply.Priority), Mentions: mentionsOf(reply.Mentions),
		Directedness: directednesses.number(reply.Directedness), Policy: policies.number(reply.Policy),
	}
	if reply.Fence != 0 {
		request.Fence = &reply.Fence
	}
	sent, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.ReplyMessage(ctx, request)
	})
	end(err)
	if err != nil {
		return nil, about(err, messageID)
	}
	return c.message(sent), nil
}

// ListMessages returns one page of messages in the order in which they were sent. A page with a cursor is not empty unless the list ends:
// if the server looked at many messages and none was wanted, the call goes on.
func (c *Client) ListMessages(ctx context.Context, channelID string, selection Selection) ([]*Message, error) {
	request := &openintentv1.ListMessagesRequest{
		ChannelId: channelID, Since: optional(selection.Since), To: optional(selection.To),
		MessageType: messageTypes.number(selection.MessageType), CorrelationId: optional(selection.CorrelationID),
		ThreadId: optional(selection.ThreadID),
	}
	if selection.Limit != 0 {
		limit := int32(min(selection.Limit, 1<<30))
		request.Limit = &limit
	}
	for {
		listed, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.ListMessagesResponse, error) {
			return c.raw.Messages.ListMessages(ctx, request)
		})
		if err != nil {
			return nil, err
		}
		if len(listed.GetMessages()) > 0 || !listed.GetBounded() || request.Since == nil {
			return c.messages(listed.GetMessages()), nil
		}
		request.Since = listed.NextSince
	}
}

// GetMessage returns a message.
func (c *Client) GetMessage(ctx context.Context, channelID, messageID string) (*Message, error) {
	message, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: channelID, MessageId: messageID})
	})
	if err != nil {
		return nil, err
	}
	return c.message(message), nil
}

// MarkRead marks a message as read.
func (c *Client) MarkRead(ctx context.Context, channelID, messageID string) (*Message, error) {
	request := &openintentv1.UpdateMessageRequest{
		ChannelId: channelID, MessageId: messageID, Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ,
	}
	message, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.UpdateMessage(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return c.message(message), nil
}

func encodeBoth(payload any, metadata map[string]any) (encoded, facts *structpb.Struct, err error) {
	if encoded, err = encode(payload); err != nil {
		return nil, nil, err
	}
	facts, err = encode(metadata)
	return encoded, facts, err
}

// keyOf returns the given idempotency key, or makes one.
func keyOf(key string) *string {
	if key == "" {
		key = newKey()
	}
	return &key
}

// newKey makes an idempotency key. Keys begin with the time, so that those of one moment lie together in the server's index: a commit of many
// messages then changes few pages of it.
func newKey() string {
	return "sdk-" + strconv.FormatInt(time.Now().UnixMilli(), 32) + "-" + rand.Text()[:20]
}
