package reading

import (
	"context"

	"openintent/messaging/message"
)

// Consumer is who gets messages.
type Consumer struct {
	Agent string
	// Subscription is the id of the subscription by which it gets them; empty for a stream.
	Subscription string
}

// Traced is a message that is handed to a consumer.
type Traced struct {
	Message  *message.Message
	IntentID string
}

// DeliveryTrace is called when messages begin to be handed to a consumer. It returns a function, which is called with the outcome. A nil
// DeliveryTrace does nothing.
type DeliveryTrace func(ctx context.Context, to Consumer, messages ...Traced) (handed func(error))

// Begin tells that an entry begins to be handed to a consumer. Only messages are told of.
func (h DeliveryTrace) Begin(ctx context.Context, to Consumer, entry Entry) (handed func(error)) {
	if h == nil || entry.Message == nil {
		return untold
	}
	return h(ctx, to, Traced{entry.Message, entry.IntentID})
}

// BeginAll tells of entries that are handed over together.
func (h DeliveryTrace) BeginAll(ctx context.Context, to Consumer, entries []Entry) (handed func(error)) {
	if h == nil {
		return untold
	}
	return h(ctx, to, TracedOf(entries)...)
}

// TracedOf returns the messages among entries.
func TracedOf(entries []Entry) []Traced {
	messages := make([]Traced, 0, len(entries))
	for _, entry := range entries {
		if entry.Message != nil {
			messages = append(messages, Traced{entry.Message, entry.IntentID})
		}
	}
	return messages
}

func untold(error) {}
