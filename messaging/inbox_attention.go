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

// sifting keeps the messages of a page: of those that wait, as many as the page has room for and one more, to know whether more follow.
type sifting struct {
	*inboxReader
	kept []*message.Message
	// through is up to where the inbox was looked through.
	through passage
}

// take sifts messages in their order, until the page is full. It tells whether it is.
func (s *sifting) take(waiting []*message.Message) (full bool, err error) {
	for len(waiting) > 0 && len(s.kept) <= s.limit {
		chunk := waiting[:min(len(waiting), max(s.limit, reading.FirstChunk), reading.MaxChunk)]
		waiting = waiting[len(chunk):]
		kept, err := s.sift(chunk)
		if err != nil {
			return false, err
		}
		s.kept = append(s.kept, kept...)
	}
	return len(s.kept) > s.limit, nil
}

// sift leaves the messages that have one of the wanted policies, if the call wants certain policies, and those that were not handed over,
// if it wants those alone, in their order. No policy depends on a message's content, so the messages may come without theirs.
func (r *inboxReader) sift(messages []*message.Message) (kept []*message.Message, err error) {
	if len(r.policies) == 0 && !r.unhanded {
		return messages, nil
	}
	judgements, err := r.attend(messages)
	if err != nil {
		return nil, err
	}
	var known map[messagePlace]*handing
	if r.unhanded {
		if known, err = handings(r.Tx, r.agent, messages); err != nil {
			return nil, err
		}
	}
	for i, m := range messages {
		judged := judgements[i]
		if len(r.policies) > 0 && (judged == nil || !slices.Contains(r.policies, judged.Policy)) {
			continue
		}
		if r.unhanded && !known[messagePlace{m.IntentNo, m.Position}].due(m, judged, r.handedSince, r.Of(m).Now) {
			continue
		}
		kept = append(kept, m)
	}
	return kept, nil
}

// attentionToWire returns the block of an item; nil if the call did not ask for it.
func (i inboxItem) attentionToWire() *openintentv1.Attention {
	if i.attention == nil {
		return nil
	}
	return i.attention.ToWire()
}
