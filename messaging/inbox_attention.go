package messaging

import (
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// This file lets an inbox say what its messages ask of the agent, and leave out those that ask something else.

// attend judges messages whose channels the reader has included.
func (r *inboxReader) attend(messages []*message.Message) ([]*attention.Judgement, error) {
	deliveries := make([]attention.Delivery, len(messages))
	for i, m := range messages {
		l := r.Of(m)
		deliveries[i] = attention.Delivery{
			Situation: l.SituationOf(m), Viewer: l.Viewer(r.agent, r.operator()), Floor: l.Count.Floor,
		}
	}
	return attention.For(r.Tx, deliveries)
}

// sifting returns sift if the call wants certain policies, and otherwise nil.
func (r *inboxReader) sifting() func([]*message.Message) ([]*message.Message, error) {
	if len(r.policies) == 0 {
		return nil
	}
	return r.sift
}

// sift leaves the messages that have one of the wanted policies, in their order. No policy depends on a message's content, so the
// messages may come without theirs.
func (r *inboxReader) sift(messages []*message.Message) (kept []*message.Message, err error) {
	judgements, err := r.attend(messages)
	for i, judged := range judgements {
		if judged != nil && slices.Contains(r.policies, judged.Policy) {
			kept = append(kept, messages[i])
		}
	}
	return kept, err
}

// siftUntil sifts messages, if the call wants certain policies, until so many are left as are wanted.
func (r *inboxReader) siftUntil(messages []*message.Message, wanted int) (kept []*message.Message, err error) {
	if len(r.policies) == 0 {
		return messages, nil
	}
	for len(messages) > 0 && len(kept) < wanted && err == nil {
		chunk := messages[:min(len(messages), reading.MaxChunk)]
		messages = messages[len(chunk):]
		var some []*message.Message
		some, err = r.sift(chunk)
		kept = append(kept, some...)
	}
	return kept, err
}

// attentionToWire returns the block of an item; nil if the call did not ask for it.
func (i inboxItem) attentionToWire() *openintentv1.Attention {
	if i.attention == nil {
		return nil
	}
	return i.attention.ToWire()
}
