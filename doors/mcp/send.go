package mcp

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// send sends a message that nobody has to answer.
var send = newTool(adds, "send", "Send a message that needs no answer; to names an agent or role:x, nobody means everyone.",
	`"channel":{"type":"string","description":"id"},"to":{"type":"string"},`+writtenProperties+`,`+
		`"thread":{"type":"string","description":"id of a message to answer to"},"mentions":{"type":"array","items":{"type":"string"}},`+
		`"key":{"type":"string","description":"same key, same message"},"expires_s":{"type":"number"}`,
	[]string{"channel"},
	func(ctx context.Context, s *session, given sendArguments) (any, error) {
		payload, err := given.payload()
		if err != nil {
			return nil, err
		}
		request := &openintentv1.SendMessageRequest{
			ChannelId: given.Channel, To: given.To, Payload: payload, ParentId: given.Thread, IdempotencyKey: given.Key,
			Mentions: list(given.Mentions), ExpiresInSeconds: given.ExpiresIn,
		}
		message, err := s.caller.Messages.SendMessage(ctx, request)
		if err != nil {
			return nil, err
		}
		if given.Thread != nil {
			s.tookAnswered(ctx, *given.Thread)
		}
		return sentAnswer{ID: message.GetId(), Thread: message.GetThreadId()}, nil
	})

type sendArguments struct {
	Channel  string   `json:"channel"`
	To       *string  `json:"to"`
	Thread   *string  `json:"thread"`
	Mentions []string `json:"mentions"`
	Key      *string  `json:"key"`
	// ExpiresIn is in seconds.
	ExpiresIn *float64 `json:"expires_s"`
	written
}

type sentAnswer struct {
	ID     string `json:"id"`
	Thread string `json:"thread,omitempty"`
}

// list returns names as the contract takes them, and nil for none.
func list(names []string) *structpb.ListValue {
	if len(names) == 0 {
		return nil
	}
	values := make([]*structpb.Value, len(names))
	for i, name := range names {
		values[i] = structpb.NewStringValue(name)
	}
	return &structpb.ListValue{Values: values}
}
