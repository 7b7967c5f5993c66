package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// sendMessage sends a message. What its arguments say becomes one of the contract's types (draft.go): an answer, a request or a notify.
var sendMessage = newTool("chat.send_message",
	"Send an idempotent chat message. To get one agent to act: visibility dm, directedness to_me, a recipient. To offer work to a role: "+
		"to_my_role, recipient role:NAME. To share context: channel, ambient.",
	`"target":{"type":"object","properties":{"conversationId":{"type":"string"},"threadId":{"type":"string","description":"an eventId of it"},`+
		`"recipient":{"type":"string","description":"agent:NAME or role:NAME"}},"required":["conversationId"],"additionalProperties":false},`+
		`"content":{"type":["array","string"],"items":{"type":"object","properties":{"type":{"const":"text"},"text":{"type":"string"}},`+
		`"required":["type","text"],"additionalProperties":false},"minItems":1},`+
		`"inReplyTo":{"type":"string","description":"eventId that this answers"},`+
		`"idempotencyKey":{"type":"string","description":"the same across retries"},"visibility":{"enum":["dm","thread","channel"]},`+
		`"directedness":{"enum":["to_me","to_my_role","ambient"],"description":"as its recipient will see it"}`,
	[]string{"target", "content", "idempotencyKey", "visibility", "directedness"},
	func(ctx context.Context, caller *doors.Caller, given sendArguments) (any, error) {
		payload, err := given.payload()
		if err != nil {
			return nil, err
		}
		if given.IdempotencyKey == "" {
			return nil, fault.BadField("idempotencyKey", "must not be empty.")
		}
		if err := given.checkWords(); err != nil {
			return nil, err
		}
		if given.InReplyTo == "" {
			request, err := given.draft(payload)
			if err != nil {
				return nil, err
			}
			return sent(caller.Messages.SendMessage(ctx, request))
		}
		return answerEvent(ctx, caller, given, payload)
	})

type sendArguments struct {
	Target         sendTarget     `json:"target"`
	Content        writtenContent `json:"content"`
	InReplyTo      string         `json:"inReplyTo"`
	IdempotencyKey string         `json:"idempotencyKey"`
	Visibility     string         `json:"visibility"`
	Directedness   string         `json:"directedness"`
}

type sendTarget struct {
	ConversationID string `json:"conversationId"`
	ThreadID       string `json:"threadId"`
	Recipient      string `json:"recipient"`
}

// writtenPart is a part of a message that an agent writes.
type writtenPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// writtenContent are the parts of a message.
type writtenContent []writtenPart

// UnmarshalJSON takes a list of parts, or one text that stands for one part, which is how the draft 2026-06-24 has contents.
func (c *writtenContent) UnmarshalJSON(given []byte) error {
	if given[0] == '"' {
		*c = writtenContent{{Type: "text"}}
		return json.Unmarshal(given, &(*c)[0].Text)
	}
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*[]writtenPart)(c))
}

// payload returns the contract's payload: the texts of all parts, one below the other.
func (a *sendArguments) payload() (*structpb.Struct, error) {
	texts := make([]string, 0, len(a.Content))
	for _, part := range a.Content {
		if part.Type != "text" {
			return nil, fault.BadField("content", "takes parts of the type text only.")
		}
		texts = append(texts, part.Text)
	}
	if len(texts) == 0 {
		return nil, fault.BadField("content", "needs at least one part.")
	}
	text := structpb.NewStringValue(strings.Join(texts, "\n"))
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": text}}, nil
}

// sentAnswer says that a message is stored. A retry under the same key is told the same.
type sentAnswer struct {
	EventID        string `json:"eventId"`
	ConversationID string `json:"conversationId"`
	ThreadID       string `json:"threadId,omitempty"`
	CreatedAt      string `json:"createdAt"`
}

func sent(m *openintentv1.Message, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return sentAnswer{m.GetId(), m.GetChannelId(), m.GetThreadId(), moment(m.GetCreatedAt())}, nil
}

// errAnswered refuses a second, different message for an event.
var errAnswered = fault.New(fault.Conflict, "EVENT_ANSWERED",
	"You have already sent another message for this event; repeat that one, or react to the event.")

// answerKey is the key under which the one message for an event is sent, whatever key the harness gave: the contract then refuses a
// second, different one, on every server, for as long as it remembers keys. A message that was refused leaves no key behind.
func answerKey(event string) string { return "c2a answer to " + event }

// answerEvent sends the one message for an event: the response if the event is a request to the caller, and else a message below it.
func answerEvent(ctx context.Context, caller *doors.Caller, given sendArguments, payload *structpb.Struct) (any, error) {
	event, err := messageOf(ctx, caller, given.InReplyTo)
	if err != nil {
		return nil, err
	}
	if given.Target.ConversationID != event.GetChannelId() {
		return nil, fault.BadField("target.conversationId", "must be the conversation of the event in inReplyTo.")
	}
	key := answerKey(given.InReplyTo)
	if event.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && event.GetSender() != caller.Agent {
		fence, err := fenceOf(ctx, caller, event)
		if err != nil {
			return nil, err
		}
		if event.GetCollect() == nil {
			fence = nil // only a request that takes an exact number of answers asks for it
		}
		return sentOnce(caller.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
			ChannelId: event.GetChannelId(), MessageId: event.GetId(), Payload: payload, IdempotencyKey: &key, Fence: fence,
		}))
	}
	if given.Visibility == visibleDM && given.Target.Recipient == "" {
		given.Target.Recipient = Named(event.GetSender())
	}
	request, err := given.draft(payload)
	if err != nil {
		return nil, err
	}
	request.ParentId, request.IdempotencyKey = new(event.GetId()), &key
	return sentOnce(caller.Messages.SendMessage(ctx, request))
}

// sentOnce is what became of the one message for an event.
func sentOnce(m *openintentv1.Message, err error) (any, error) {
	if reason := doors.RefusalOf(err).Reason; err != nil && (reason == "IDEMPOTENCY_KEY_REUSED" || reason == "ANSWERED") {
		return nil, errAnswered
	}
	return sent(m, err)
}
