package reading

import (
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// Entry is one thing in an intent's log as a reader sees it: a message, a logged event or an annotation.
type Entry struct {
	Position int64
	IntentNo int64
	IntentID string
	// ChannelNo, ChannelID and ChannelName are set for a message and for an annotation.
	ChannelNo              int64
	ChannelID, ChannelName string
	// One of Message, Event and Annotation is set. Audit is the log's copy of an audited message.
	Message    *message.Message
	Event      *intents.Event
	Annotation *message.Annotation
	Audit      *intents.Event
	// Now is the time by which the entry was judged. A message's status is the one at that time. It may lie ahead of the clock (intents.Head.At).
	Now time.Time
	// ReadAt is the clock's time just before the entry was read; for what was handed over, when its commit was known.
	ReadAt time.Time

	// Attention is what the message asks of the reader. It is nil if the reader did not ask for it, and if the message asks nothing.
	Attention *attention.Judgement

	// Content is set when several readers share the message's content.
	Content *message.SharedContent
	// Encodings are set when several followers may share the entry.
	Encodings *Encodings
}

// Size is how much of a page the entry takes up, in bytes.
func (e Entry) Size() int {
	return Item{Message: e.Message, Event: e.Event, Annotation: e.Annotation, Audit: e.Audit}.Size()
}

// AnnotationToWire returns an annotation as clients see it, and nil for any other entry.
func (e Entry) AnnotationToWire() *openintentv1.Annotation {
	if e.Annotation == nil {
		return nil
	}
	return e.Annotation.ToWire()
}

// AttentionToWire returns what the message asks of the reader as clients see it; nil if that is nothing.
func (e Entry) AttentionToWire() *openintentv1.Attention {
	if e.Attention == nil {
		return nil
	}
	return e.Attention.At(e.Now).ToWire()
}

// SharesForm reports whether other readers are sent the same: what the message asks, if the reader wants to know it, depends on neither
// the time nor the reader alone.
func (e Entry) SharesForm() bool {
	if e.Attention == nil {
		return true
	}
	_, exact := e.Attention.Form()
	return exact
}

// In returns the entry of a message or an annotation with its channel filled in.
func (e Entry) In(channel *channels.Rules) Entry {
	e.ChannelNo, e.ChannelID, e.ChannelName = channel.ChannelNo, channel.ID, channel.Name
	return e
}

// At returns the entry as of a later time, without reading it again. It tells whether the reader is still shown the entry
// then: its time may have run out since.
func (e Entry) At(now time.Time, by caller.Caller) (later Entry, shown bool) {
	if now.After(e.Now) {
		e.Now = now
	}
	viewer := message.Viewer{Agent: by.Agent, Operator: by.IsOperator}
	if e.Annotation != nil {
		return e, message.Timely(e.Annotation.Sight(viewer, e.Now))
	}
	return e, e.Message == nil || message.Timely(e.Message, viewer, e.Now)
}

// ToWire returns an entry that is no annotation as clients see it: a message, with the log's copy if it has one, or an event.
// Both are nil for an annotation.
func (e Entry) ToWire() (message *openintentv1.Message, event, audit *openintentv1.Event, err error) {
	if e.Annotation != nil {
		return nil, nil, nil, nil
	}
	if e.Event != nil {
		event, err = e.Event.ToWire()
		return nil, event, nil, err
	}
	if message, err = e.messageToWire(); err != nil {
		return nil, nil, nil, err
	}
	if e.Audit != nil {
		audit, err = e.Audit.ToWire()
	}
	return message, nil, audit, err
}

func (e Entry) messageToWire() (*openintentv1.Message, error) {
	if e.Content == nil {
		return e.Message.ToWire(e.Now)
	}
	content, err := e.Content.Of(e.Message)
	if err != nil {
		return nil, err
	}
	return e.Message.WireWith(content, e.Now), nil
}
