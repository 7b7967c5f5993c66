package reading

import (
	"slices"

	"openintent/caller"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Filter narrows what a reader is given of a log. Its zero value narrows nothing.
type Filter struct {
	// EventTypes are the wanted types: those of logged events, and channel_message for messages. When it is empty all types
	// are wanted.
	EventTypes []string
	// MessageType and CorrelationID, when they are set, leave only messages that have them, and no logged events.
	MessageType   message.Type
	CorrelationID string
}

// FilterFrom checks and returns the filter that a request asks for. Unset values narrow nothing.
func FilterFrom(
	eventTypes []string, messageType openintentv1.MessageType, correlationID string,
) (Filter, error) {
	filter := Filter{EventTypes: eventTypes, MessageType: message.TypeFrom(messageType, ""), CorrelationID: correlationID}
	return filter, filter.Check()
}

// Check refuses a filter with text that some database cannot take.
func (f Filter) Check() error {
	for _, eventType := range f.EventTypes {
		if err := caller.CheckText("event_types", eventType); err != nil {
			return err
		}
	}
	return caller.CheckText("correlation_id", f.CorrelationID)
}

// onlyMessages tells whether the filter leaves no logged events.
func (f Filter) onlyMessages() bool { return f.MessageType != "" || f.CorrelationID != "" }

func (f Filter) wants(eventType string) bool {
	return len(f.EventTypes) == 0 || slices.Contains(f.EventTypes, eventType)
}

// wantsMessages tells whether the filter leaves any messages.
func (f Filter) wantsMessages() bool { return f.wants(MessageEventType) }

// loggedTypes returns the types of the logged events that the filter leaves, and of the copies that come with messages.
// When there are none, all types are wanted.
func (f Filter) loggedTypes() []string {
	if f.onlyMessages() {
		return []string{MessageEventType}
	}
	return f.EventTypes
}

// Keeps tells whether the filter leaves an item.
func (f Filter) Keeps(it Item) bool {
	if it.Event != nil {
		return !f.onlyMessages() && f.wants(it.Event.Type)
	}
	m := it.Message
	return f.wantsMessages() && (f.MessageType == "" || m.Type == f.MessageType) &&
		(f.CorrelationID == "" || m.CorrelationID == f.CorrelationID)
}
