package search

import (
	"iter"

	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// textsOf goes through the texts of a message in which a search looks: its subject, and all strings of its payload, but not the names of
// the payload's fields.
func textsOf(m *message.Message) iter.Seq[string] {
	return func(yield func(string) bool) {
		if m.Conversation != nil && m.Conversation.Subject != "" && !yield(m.Conversation.Subject) {
			return
		}
		for text := range jsonvalue.Strings(m.Payload) {
			if !yield(text) {
				return
			}
		}
	}
}
