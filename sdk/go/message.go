package openintent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// MessageType is the purpose of a message.
type MessageType string

// These are the types of messages.
const (
	Request   MessageType = "request"
	Response  MessageType = "response"
	Notify    MessageType = "notify"
	Broadcast MessageType = "broadcast"
)

var messageTypes = wordsOf(map[openintentv1.MessageType]MessageType{
	openintentv1.MessageType_MESSAGE_TYPE_REQUEST:   Request,
	openintentv1.MessageType_MESSAGE_TYPE_RESPONSE:  Response,
	openintentv1.MessageType_MESSAGE_TYPE_NOTIFY:    Notify,
	openintentv1.MessageType_MESSAGE_TYPE_BROADCAST: Broadcast,
})

// MessageStatus is whether a message is delivered, read or expired.
type MessageStatus string

// These are the statuses of messages.
const (
	Delivered MessageStatus = "delivered"
	Read      MessageStatus = "read"
	Expired   MessageStatus = "expired"
)

var messageStatuses = wordsOf(map[openintentv1.MessageStatus]MessageStatus{
	openintentv1.MessageStatus_MESSAGE_STATUS_PENDING:   "pending",
	openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED: Delivered,
	openintentv1.MessageStatus_MESSAGE_STATUS_READ:      Read,
	openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED:   Expired,
})

// failureMark is the metadata member that marks a response as a handler's failure.
const failureMark = "openintent_error"

// Message is one message of a channel.
type Message struct {
	ID        string
	ChannelID string
	Sender    string
	// SenderKind is "human" for what a person sent, and "" for an agent's message.
	SenderKind string
	// To is an agent, "role:" with a role, or "*"; "" means everyone, as "*" does.
	To          string
	MessageType MessageType
	// CorrelationID is the id of the request that a response answers.
	CorrelationID string
	Payload       map[string]any
	Metadata      map[string]any
	Status        MessageStatus
	CreatedAt     time.Time
	// ExpiresAt and ReadAt are zero when the message does not expire, or has not been read.
	ExpiresAt time.Time
	ReadAt    time.Time

	// ParentID and the rest of it are as the sender gave them; mentions that the server found count too.
	Conversation
	// ThreadID is the first message of the thread; "" when the sender gave no parent.
	ThreadID string
	// Revision counts how often the content was given, from the second time on; 0 when it was never edited.
	Revision int
	// Document is true if it was sent as a document of the channel.
	Document bool
	// EditedAt and DeletedAt are zero when that has not happened.
	EditedAt, DeletedAt time.Time
	// Attention is what the message asks of the agent. It is nil unless the agent asked for attention, and for its own messages.
	Attention *Attention

	// IntentID and ChannelName are set for messages that were followed or received. So is Position, the position in
	// the intent's log, except for a question from the inbox. Attempt counts the deliveries to an agent, from 1.
	IntentID    string
	ChannelName string
	Position    int64
	Attempt     int
	// SourceIDs are the ids of the messages that came to the agent with one delivery, oldest first, this one among them, because they had
	// waited for their sender to pause (AgentOptions.Compose). It is nil for a message that came by itself.
	SourceIDs []string

	client *Client
	// further counts the answers that handlers sent with Reply; nil for a message that no agent received.
	further *atomic.Int64
	// claim is the newest that Claim made; nil for none.
	claim *Claim
}

// Decode fills a value with the payload, as encoding/json does. When the payload does not fit, it returns a *PayloadError.
func (m *Message) Decode(into any) error {
	if err := decode(m.Payload, into); err != nil {
		return &PayloadError{Agent: m.Sender, MessageID: m.ID, Problem: fmt.Sprintf("the payload is not a %s: %s", strings.TrimPrefix(fmt.Sprintf("%T", into), "*"), err)}
	}
	return nil
}

// IsError reports whether the message is the response of a handler that failed.
func (m *Message) IsError() bool {
	marked, _ := m.Metadata[failureMark].(bool)
	return marked && m.MessageType == Response
}

// Reply answers a request. To any other message it sends its sender a message of type Notify that has this one as its parent. In a
// handler it sends an early or an additional answer; when the message is handled again after a crash, it sends the same answer. It
// returns nil when another answer was stored in its place before the crash.
func (m *Message) Reply(ctx context.Context, payload any) (*Message, error) {
	key := ""
	if m.further != nil {
		key = fmt.Sprintf("%s-%d", m.replyKey(), m.further.Add(1))
	}
	answer, err := m.reply(ctx, Reply{Payload: payload, IdempotencyKey: key})
	if m.further != nil && errors.Is(err, ErrAlreadyExists) {
		return nil, nil
	}
	return answer, err
}

func (m *Message) reply(ctx context.Context, reply Reply) (*Message, error) {
	switch {
	case m.MessageType == Request && m.claim != nil:
		reply.Fence = m.claim.Fence
		answer, err := m.client.ReplyTo(ctx, m.ChannelID, m.ID, reply)
		if err == nil {
			m.claim.answered.Store(true)
		}
		return answer, err
	case m.MessageType == Request:
		return m.client.ReplyTo(ctx, m.ChannelID, m.ID, reply)
	}
	return m.client.SendMessage(ctx, m.ChannelID, Draft{
		To: m.Sender, Payload: reply.Payload, IdempotencyKey: reply.IdempotencyKey, Conversation: Conversation{ParentID: m.ID},
	})
}

// replyKey returns the idempotency key of the answer by an agent's handlers.
func (m *Message) replyKey() string { return "sdk-reply-" + m.ID }

// remoteError returns the failure that the message carries.
func (m *Message) remoteError() *RemoteError {
	failure, _ := m.Payload["error"].(map[string]any)
	kind, _ := failure["type"].(string)
	text, _ := failure["message"].(string)
	return &RemoteError{Type: kind, Message: text, Response: m}
}

func (c *Client) message(m *openintentv1.Message) *Message {
	return &Message{
		ID: m.GetId(), ChannelID: m.GetChannelId(), Sender: m.GetSender(), SenderKind: m.GetSenderKind(), To: m.GetTo(),
		MessageType: messageTypes.word(m.GetMessageType()), CorrelationID: m.GetCorrelationId(),
		Payload: m.GetPayload().AsMap(), Metadata: m.GetMetadata().AsMap(), Status: messageStatuses.word(m.GetStatus()),
		CreatedAt: timeOf(m.GetCreatedAt()), ExpiresAt: timeOf(m.GetExpiresAt()), ReadAt: timeOf(m.GetReadAt()),
		Conversation: conversationOf(m), ThreadID: m.GetThreadId(), Revision: int(m.GetRevision()), Document: m.GetDocument(),
		EditedAt: timeOf(m.GetEditedAt()), DeletedAt: timeOf(m.GetDeletedAt()), client: c,
	}
}

func (c *Client) messages(list []*openintentv1.Message) []*Message {
	messages := make([]*Message, len(list))
	for i, m := range list {
		messages[i] = c.message(m)
	}
	return messages
}

// timeOf returns the zero time for nil.
func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}

// stampOf returns nil for the zero time.
func stampOf(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// words translates between the wire's enum and the protocol's words.
type words[E ~int32, W ~string] struct {
	byNumber map[E]W
	byWord   map[W]E
}

func wordsOf[E ~int32, W ~string](byNumber map[E]W) words[E, W] {
	byWord := make(map[W]E, len(byNumber))
	for number, word := range byNumber {
		byWord[word] = number
	}
	return words[E, W]{byNumber, byWord}
}

func (w words[E, W]) word(number E) W { return w.byNumber[number] }

// number returns nil for the empty word. An unknown word becomes a number that the server refuses, naming the field.
func (w words[E, W]) number(word W) *E {
	if word == "" {
		return nil
	}
	number, known := w.byWord[word]
	if !known {
		number = -1
	}
	return &number
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
