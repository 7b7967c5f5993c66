package scenarios

import (
	"fmt"
	"slices"
	"time"

	openintent "openintent/sdk/go"
)

// apart is how long a sender is silent before what it wrote is delivered to a subscription that composes.
const apart = 3 * time.Second

// noteHandled notes a message for which an agent's handler was called.
func (s *story) noteHandled(name string, message *openintent.Message) {
	s.change(func() {
		if s.handledBy(name, message.ID) == nil {
			s.handled[name] = append(s.handled[name], message)
		}
	})
}

// handledBy returns a message that an agent's handlers were called for, or nil. The caller holds the mutex.
func (s *story) handledBy(name, id string) *openintent.Message {
	for _, message := range s.handled[name] {
		if message.ID == id {
			return message
		}
	}
	return nil
}

// untilHandled waits until an agent's handlers were called for that many messages, and returns these in their order.
func (s *story) untilHandled(name string, count int) ([]*openintent.Message, error) {
	what := fmt.Sprintf("%d messages that %s handles", count, name)
	if err := s.await(what, func() bool { return len(s.handled[name]) >= count }); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.handled[name]), nil
}

func (s *story) waitHandled(_ act, f facts) (any, error) {
	_, err := s.untilHandled(s.plain(f.Agent.Value).(string), f.Count)
	return nil, err
}

func (s *story) handledSoFar(_ act, f facts) (any, error) {
	messages, err := s.untilHandled(s.plain(f.Agent.Value).(string), f.Count)
	list := make([]any, len(messages))
	for i, message := range messages {
		list[i] = map[string]any{"id": message.ID, "payload": message.Payload, "attention": attentionFacts(message.Attention)}
	}
	return list, err
}

// together waits until an agent has handled messages, and fails unless they came with one delivery. Messages that the server stored too far
// apart, or that the agent found in its inbox, may have come by themselves.
func (s *story) together(_ act, f facts) (any, error) {
	name := s.plain(f.Agent.Value).(string)
	var messages []*openintent.Message
	err := s.await(fmt.Sprintf("the messages %v", f.Messages), func() bool {
		messages = nil
		for _, id := range f.Messages {
			if message := s.handledBy(name, id); message != nil {
				messages = append(messages, message)
			}
		}
		return len(messages) == len(f.Messages)
	})
	if err != nil {
		return nil, err
	}
	for i, message := range messages {
		if message.Position == 0 || i > 0 && message.CreatedAt.Sub(messages[i-1].CreatedAt) >= apart {
			return nil, nil
		}
	}
	for _, message := range messages {
		if !slices.Equal(message.SourceIDs, f.Messages) {
			return nil, fmt.Errorf("%s came with %v instead of %v", message.ID, message.SourceIDs, f.Messages)
		}
	}
	return nil, nil
}

// digested waits until the digests that came sum up that many messages, and returns all of them as one.
func (s *story) digested(_ act, f facts) (any, error) {
	name := s.plain(f.Agent.Value).(string)
	count, leftOut, senders, subjects := 0, 0, []string{}, []string{}
	err := s.await(fmt.Sprintf("digests of %d messages for %s", f.Count, name), func() bool {
		count, leftOut, senders, subjects = 0, 0, []string{}, []string{}
		for _, digest := range s.digests[name] {
			count += digest.MessageCount
			leftOut += digest.LeftOutCount
			for _, c := range digest.Counts {
				senders = append(senders, c.Sender)
			}
			for _, subject := range digest.Subjects {
				subjects = append(subjects, subject.Subject)
			}
		}
		return count >= f.Count
	})
	slices.Sort(senders)
	slices.Sort(subjects)
	return map[string]any{
		"message_count": count, "left_out_count": leftOut, "senders": listOf(slices.Compact(senders)), "subjects": listOf(subjects),
	}, err
}
