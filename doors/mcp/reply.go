package mcp

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// reply answers a request, or adds to the thread of any other message.
var reply = newTool(adds, "reply", "Answer a message. Answer what is must_respond, and leave alone what is must_not_respond.",
	`"message":{"type":"string","description":"id"},`+writtenProperties+`,"key":{"type":"string"}`,
	[]string{"message"},
	func(ctx context.Context, s *session, given replyArguments) (any, error) {
		payload, err := given.payload()
		if err != nil {
			return nil, err
		}
		message, err := s.message(ctx, given.Message)
		if err != nil {
			return nil, err
		}
		fence, err := s.fence(ctx, message)
		if err != nil {
			return nil, err
		}
		answer, err := s.caller.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
			ChannelId: message.GetChannelId(), MessageId: message.GetId(), Payload: payload, IdempotencyKey: given.Key, Fence: fence,
		})
		if err != nil {
			return nil, err
		}
		s.tookMessage(ctx, message)
		return sentAnswer{ID: answer.GetId(), Thread: answer.GetThreadId()}, nil
	})

type replyArguments struct {
	Message string  `json:"message"`
	Key     *string `json:"key"`
	written
}

// anyChannel stands for the channel that a message is in, wherever a model knows the message alone.
const anyChannel = "-"

// message returns a message by its id alone.
func (s *session) message(ctx context.Context, id string) (*openintentv1.Message, error) {
	return s.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: anyChannel, MessageId: id})
}

// fence returns the fence of the caller's claim on a request that takes an exact number of answers, and nil if it holds none. A
// model need not know of fences: the one that the caller's claim has now is the one that it means.
func (s *session) fence(ctx context.Context, message *openintentv1.Message) (*int64, error) {
	if message.GetCollect() == nil {
		return nil, nil
	}
	return s.fenceOf(ctx, message)
}

// fenceOf returns the fence of the caller's claim on a message that it received, and nil if it holds none.
func (s *session) fenceOf(ctx context.Context, message *openintentv1.Message) (*int64, error) {
	judged, err := s.caller.Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(),
	})
	if err != nil || judged.GetClaim() == nil {
		return nil, err
	}
	return judged.GetClaim().Fence, nil
}
