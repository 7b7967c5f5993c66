package reading

import (
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/messaging/message"
)

// Filter narrows what a reader is given of a log. Its zero value narrows nothing.
type Filter struct {
	// EventTypes are the wanted types: those of logged events and of annotations, and channel_message for messages. When it is
	// empty all types are wanted.
	EventTypes []string
	// MessageType and CorrelationID, when they are set, leave only messages that have them.
	MessageType   message.Type
	CorrelationID string
	// Annotations adds annotations. A logged event that a client gave an annotation's type is left out then, so that nobody
	// can pass one off as the other.
	Annotations bool
	// Attention adds to each message what it asks of the reader.
	Attention bool
}

// The words by which a request asks for more than messages and events.
const (
	IncludeAnnotations = "annotations"
	IncludeAttention   = "attention"
)

// FilterFrom checks and returns the filter that a request asks for. Unset values narrow nothing.
func FilterFrom(
	eventTypes []string, messageType openintentv1.MessageType, correlationID string, include []string,
) (Filter, error) {
	filter := Filter{
		EventTypes: eventTypes, MessageType: message.TypeFrom(messageType, ""), CorrelationID: correlationID,
	}
	filter.Include(include)
	return filter, filter.Check()
}

// Include sets whether annotations and attention come too, by the words of a request.
func (f *Filter) Include(words []string) {
	f.Annotations, f.Attention = slices.Contains(words, IncludeAnnotations), slices.Contains(words, IncludeAttention)
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

// onlyMessages reports whether the filter leaves nothing but messages.
func (f Filter) onlyMessages() bool { return f.MessageType != "" || f.CorrelationID != "" }

func (f Filter) wants(eventType string) bool {
	return len(f.EventTypes) == 0 || slices.Contains(f.EventTypes, eventType)
}

// wantsMessages reports whether the filter leaves any messages.
func (f Filter) wantsMessages() bool { return f.wants(MessageEventType) }

// WantsLogged reports whether the filter leaves logged events that are not the copies of messages.
func (f Filter) WantsLogged() bool {
	return !f.onlyMessages() && (len(f.EventTypes) == 0 || slices.ContainsFunc(f.EventTypes, func(name string) bool {
		return name != MessageEventType && (!f.Annotations || !message.IsAnnotationType(name))
	}))
}

// loggedTypes returns the types of the logged events that the filter leaves, and of the copies that come with messages.
// When there are none, all types are wanted.
func (f Filter) loggedTypes() []string {
	if f.onlyMessages() {
		return []string{MessageEventType}
	}
	return f.EventTypes
}

// annotationTypes returns the types of the annotations that the filter leaves; wanted is false when it leaves none. When there
// are no types, all are wanted.
func (f Filter) annotationTypes() (types []string, wanted bool) {
	for _, name := range f.EventTypes {
		if message.IsAnnotationType(name) {
			types = append(types, name)
		}
	}
	return types, f.Annotations && !f.onlyMessages() && (len(f.EventTypes) == 0 || len(types) > 0)
}

// Keeps reports whether the filter leaves an item.
func (f Filter) Keeps(it Item) bool {
	switch {
	case it.Event != nil:
		forged := f.Annotations && message.IsAnnotationType(it.Event.Type)
		return !forged && !f.onlyMessages() && f.wants(it.Event.Type)
	case it.Annotation != nil:
		return f.Annotations && !f.onlyMessages() && f.wants(string(it.Annotation.Type))
	}
	m := it.Message
	return f.wantsMessages() && (f.MessageType == "" || m.Type == f.MessageType) &&
		(f.CorrelationID == "" || m.CorrelationID == f.CorrelationID)
}
