package openapi

import (
	"net/http"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Stream is a path that serves a stream of server-sent events.
type Stream struct {
	Method protoreflect.MethodDescriptor
	// ID, Path, Summary and Description are those of the operation.
	ID, Path, Summary, Description string
	// Parameter is the name of what is followed, as in the path.
	Parameter string
	// Keys are the query keys that are fields of the request. KeyOf describes each.
	Keys  []string
	KeyOf map[string]string
	// LastKey is the query key that stands for the header Last-Event-ID.
	LastKey string
	// Events are what comes.
	Events []Event
}

// Event is one sort of events on a stream.
type Event struct {
	// Name is the event's name; empty for logged events, which are named after their types.
	Name string
	// Schema is the name under which the schema of its data is found, and Description describes it.
	Schema, Description string
	// Of is the message that the data is; nil for any object.
	Of protoreflect.MessageDescriptor
	// With are further members that are always there, and Maybe are those that are sometimes there: fields of Delivery.
	With, Maybe []string
	Delivery    protoreflect.MessageDescriptor
	// Texts are further members that are texts and always there.
	Texts []string
}

func (d *describer) stream(s *Stream) {
	made := d.described(s.Method, s.ID)
	made.Summary, made.Description = s.Summary, s.Description
	text := &Schema{Type: "string"}
	made.Parameters = append(made.Parameters,
		&Parameter{Name: s.Parameter, In: "path", Required: true, Description: "What to follow.", Schema: text},
		&Parameter{Ref: reference("parameters", "LastEventID")},
		&Parameter{Name: s.LastKey, In: "query", Description: "The same, for clients that cannot set headers.", Schema: text},
	)
	for _, key := range s.Keys {
		parameter := d.queryParameter(s.Method.Input().Fields().ByName(protoreflect.Name(key)))
		parameter.Description = s.KeyOf[key]
		made.Parameters = append(made.Parameters, parameter)
	}
	var forms []*Schema
	for _, event := range s.Events {
		forms = append(forms, d.event(event))
	}
	made.Responses["200"] = &Response{
		Description: "The stream: server-sent events, without end.",
		Content: map[string]MediaType{"text/event-stream": {&Schema{
			Type: "string", Description: "Server-sent events. The content's schema shows each as an object; its data is JSON.",
			ContentMediaType: "text/event-stream", ContentSchema: &Schema{Type: "array", Items: &Schema{AnyOf: forms}},
		}}},
	}
	d.add(s.Path, http.MethodGet, made)
}

// event describes one sort of events.
func (d *describer) event(e Event) *Schema {
	name := &Schema{Type: "string"}
	if e.Name != "" {
		name.Const = e.Name
	}
	return &Schema{Type: "object", Required: []string{"event", "data"}, Properties: Properties{
		{"event", name}, {"id", &Schema{Type: "string"}}, {"data", d.eventData(e)},
	}}
}

func (d *describer) eventData(e Event) *Schema {
	if e.Of != nil && e.Delivery == nil {
		return d.answer(e.Of)
	}
	if e.Schema == Problem {
		return schemaNamed(Problem)
	}
	return d.component(e.Schema, "event "+e.Schema, func(into *Schema) {
		into.Type, into.Description = "object", e.Description
		if e.Of != nil {
			d.answer(e.Of)
			whole := d.made[string(e.Of.Name())]
			into.Properties = append(into.Properties, whole.Properties...)
			into.Required = append(into.Required, whole.Required...)
		} else {
			into.AdditionalProperties = true
		}
		for _, name := range e.Texts {
			into.Properties = append(into.Properties, Property{name, &Schema{Type: "string"}})
			into.Required = append(into.Required, name)
		}
		for _, name := range append(e.With, e.Maybe...) {
			field := e.Delivery.Fields().ByName(protoreflect.Name(name))
			into.Properties = append(into.Properties, Property{name, d.member(field, d.answer, false)})
		}
		into.Required = append(into.Required, e.With...)
	})
}
