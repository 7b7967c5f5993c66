package server

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
	"openintent/server/jsonform"
)

// These are the names of events that do not come from a log.
const (
	messageEvent = messageEventType
	closedEvent  = "channel_closed"
	errorEvent   = "error"
	digestEvent  = "message_digest"
	probeName    = "probe"
	// otherEvent is the name of a logged event whose type cannot be a name in a stream. Its data contains the type.
	otherEvent = "event"
)

// clientNames are the names that existing clients have for types of logged events.
var clientNames = map[string]string{
	"state_patched":  "STATE_CHANGED",
	"status_changed": "STATUS_CHANGED",
	"agent_assigned": "AGENT_ASSIGNED",
	"lease_acquired": "LEASE_ACQUIRED",
	"lease_released": "LEASE_RELEASED",
}

// logName returns the log's type for a name in either vocabulary.
func logName(name string) string {
	if name == clientEventType {
		return messageEventType
	}
	for logged, client := range clientNames {
		if name == client {
			return logged
		}
	}
	return name
}

// eventForm is the form of deliveries on a stream.
type eventForm struct {
	// clientNames makes logged events use the names and the data that existing clients read.
	clientNames bool
	// compatibility makes the log's copies of messages use the type that existing clients know, as in lists of
	// events.
	compatibility bool
}

// delivered is what the deliveries of all streams have in common.
type delivered interface {
	GetIntentId() string
	GetChannelName() string
	GetMessage() *openintentv1.Message
	GetEvent() *openintentv1.Event
	GetAnnotation() *openintentv1.Annotation
	GetAttention() *openintentv1.Attention
}

// delivery writes one delivery as an event with an id.
func (f eventForm) delivery(id int64, d delivered) (string, error) {
	var name string
	var data []byte
	var err error
	switch logged := d.GetEvent(); {
	case d.GetMessage() != nil:
		name = messageEvent
		data, err = f.placed(d, d.GetMessage())
	case d.GetAnnotation() != nil:
		name = d.GetAnnotation().GetType()
		data, err = f.placed(d, d.GetAnnotation())
	case digestOf(d) != nil:
		name = digestEvent
		data, err = f.placed(d, digestOf(d))
	case f.clientNames:
		name = f.name(logged.GetEventType())
		data, err = clientData(logged)
	default:
		name = f.name(logged.GetEventType())
		data, err = jsonform.Append(nil, f.logged(logged))
	}
	return idLine(id) + event(name, data), err
}

// probeEvent writes a probe. It has no id, so that the client keeps its cursor.
func probeEvent(id string) string {
	return event(probeName, append(jsonform.AppendString([]byte(`{"probe_id":`), id), '}'))
}

// placed returns the flat object of a message or an annotation with its intent, its channel's name and the extra fields of its
// delivery.
func (f eventForm) placed(d delivered, object proto.Message) ([]byte, error) {
	data, err := jsonform.Append(nil, object)
	if err != nil {
		return nil, err
	}
	data = append(data[:len(data)-1], `,"intent_id":`...)
	data = jsonform.AppendString(data, d.GetIntentId())
	data = append(data, `,"channel_name":`...)
	data = jsonform.AppendString(data, d.GetChannelName())
	if d.GetAttention() != nil {
		if data, err = jsonform.Append(append(data, `,"attention":`...), d.GetAttention()); err != nil {
			return nil, err
		}
	}
	switch d := d.(type) {
	case *openintentv1.SubscriptionDelivery:
		data = strconv.AppendInt(append(data, `,"attempt":`...), int64(d.GetAttempt()), 10)
		data, err = appendTogether(data, d)
	case *openintentv1.SubscribeResponse:
		if d.GetBackfill() {
			data = append(data, `,"backfill":true`...)
		}
		if d.GetAuditEvent() != nil && !f.clientNames {
			data, err = jsonform.Append(append(data, `,"audit_event":`...), f.logged(d.GetAuditEvent()))
		}
	}
	return append(data, '}'), err
}

// digestOf returns the digest of a delivery; nil if it has none.
func digestOf(d delivered) *openintentv1.Digest {
	if delivery, ok := d.(*openintentv1.SubscriptionDelivery); ok {
		return delivery.GetDigest()
	}
	return nil
}

// appendTogether appends what comes with a message in the same delivery: the messages before it, and a digest.
func appendTogether(data []byte, d *openintentv1.SubscriptionDelivery) (_ []byte, err error) {
	if len(d.GetSourceIds()) > 0 {
		data = append(data, `,"source_ids":[`...)
		for i, id := range d.GetSourceIds() {
			if i > 0 {
				data = append(data, ',')
			}
			data = jsonform.AppendString(data, id)
		}
		data = append(data, `],"earlier":[`...)
		for i, one := range d.GetEarlier() {
			if i > 0 {
				data = append(data, ',')
			}
			if data, err = jsonform.Append(data, one); err != nil {
				return nil, err
			}
		}
		data = append(data, ']')
	}
	if d.GetDigest() != nil && d.GetMessage() != nil {
		return jsonform.Append(append(data, `,"digest":`...), d.GetDigest())
	}
	return data, nil
}

// logged returns a logged event as lists of events show it to this client.
func (f eventForm) logged(logged *openintentv1.Event) *openintentv1.Event {
	if f.compatibility {
		return clientEvent(logged)
	}
	return logged
}

// name returns the name under which a logged event is sent. A client may write any type. A type that could break the
// lines of a stream, or that has another meaning there, is not used as a name.
func (f eventForm) name(eventType string) string {
	if client, ok := clientNames[eventType]; ok && f.clientNames {
		return client
	}
	switch eventType {
	case messageEvent, closedEvent, errorEvent, digestEvent, probeName:
		return otherEvent
	}
	if strings.ContainsFunc(eventType, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return otherEvent
	}
	return eventType
}

// clientData returns a logged event as existing clients read it: its payload's members with the event's own id,
// intent and type, and the further names under which those clients look for some members.
func clientData(logged *openintentv1.Event) ([]byte, error) {
	members := maps.Clone(logged.GetPayload().GetFields())
	if members == nil {
		members = make(map[string]*structpb.Value)
	}
	switch logged.GetEventType() {
	case "status_changed":
		members["old_status"], members["new_status"] = members["from"], members["to"]
	case "state_patched":
		members["old_state"], members["new_state"] = structpb.NewStructValue(&structpb.Struct{}), patched(members["patches"])
	}
	members["event_id"] = structpb.NewStringValue(logged.GetId())
	members["intent_id"] = structpb.NewStringValue(logged.GetIntentId())
	members["event_type"] = structpb.NewStringValue(logged.GetEventType())
	return jsonform.Append(nil, &structpb.Struct{Fields: members})
}

// patched returns the state that the patches alone produce from an empty one. The log does not contain the whole
// state, and existing clients' handlers look in new_state for the keys that changed.
func patched(patches *structpb.Value) *structpb.Value {
	var operations []jsonvalue.Operation
	for _, patch := range patches.GetListValue().GetValues() {
		fields := patch.GetStructValue().GetFields()
		operation := jsonvalue.Operation{Op: fields["op"].GetStringValue(), Path: fields["path"].GetStringValue()}
		if value, err := jsonform.Append(nil, fields["value"]); err == nil {
			operation.Value = value
		}
		operations = append(operations, operation)
	}
	state := &structpb.Struct{}
	if object, err := jsonvalue.Object(nil).Apply(operations); err == nil {
		if made, err := object.Struct(); err == nil {
			state = made
		}
	}
	return structpb.NewStructValue(state)
}

// event writes an event with a JSON object as its data.
func event(name string, data []byte) string {
	return "event: " + name + "\ndata: " + string(asciiOnly(data)) + "\n\n"
}

// asciiOnly escapes all non-ASCII characters in JSON text. Existing clients split lines at characters such as U+0085
// and U+2028, which JSON leaves unescaped.
func asciiOnly(text []byte) []byte {
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x80 }) {
		return text
	}
	out := make([]byte, 0, 2*len(text))
	for _, c := range string(text) {
		switch {
		case c < 0x80:
			out = append(out, byte(c))
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, c)
		}
	}
	return out
}

func appendEscape(out []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
