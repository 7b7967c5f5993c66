package server

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"openintent/messaging/message"
	"openintent/server/openapi"
)

// streamDescriptions describe the data of events, for the two forms of logged events and for durable subscriptions.
const (
	messageDescription = "Each message is an event `channel_message`; its data is the message with `intent_id` and `channel_name`. "
	logDescription     = "A logged event is named after its type, and its data is the event itself; the log's copy of an audited message " +
		"comes with the message, as `audit_event`. "
	clientDescription = "A logged event is named after its type, except for STATE_CHANGED, STATUS_CHANGED, AGENT_ASSIGNED, " +
		"LEASE_ACQUIRED and LEASE_RELEASED; its data are the members of its payload with `event_id`, `intent_id` and " +
		"`event_type`. "
	cursorDescription = "An event's id is the cursor after it; the first id comes without data and marks where the stream begins. " +
		"After a lost connection the stream continues after Last-Event-ID. "
	acknowledgeDescription = "An event's id is the delivery's number, and `attempt` in a message is the number of the attempt. " +
		"Last-Event-ID acknowledges everything up to it. "
	endDescription = "A stream ends with an event `error`; its data is a Problem. The stream of a closed channel ends, once " +
		"everything is delivered, with `channel_closed`."
)

// streamKeys describe the query keys of streams.
var streamKeys = map[string]string{
	"event_types":    "Only these types, separated by commas: a logged event's type, or `channel_message`.",
	"message_type":   "Only messages of this type, and no logged events.",
	"correlation_id": "Only responses to this request, and no logged events.",
	"include": "What to deliver beside messages and events, separated by commas: `annotations` or `attention`. Each annotation is an event " +
		"named after its type; its data is the annotation with `intent_id` and `channel_name`.",
	"probes": "`true` takes part in probes: an event `probe` asks the client to confirm its `probe_id` by " +
		"`POST /v1/agents/{agent_id}/probe/{probe_id}`.",
	"max_outstanding": "How many deliveries may be unacknowledged at the same time, 1 to 1,000; 100 when absent.",
}

// describeStreams describes the paths of event streams, which the annotations do not contain.
func describeStreams() []*openapi.Stream {
	streams := make([]*openapi.Stream, 0, len(eventRoutes))
	for _, route := range eventRoutes {
		method := methodNamed(route.method)
		streams = append(streams, &openapi.Stream{
			Method:      method,
			ID:          string(method.Parent().Name()) + "_" + route.operation,
			Path:        route.before + "{" + route.parameter + "}" + route.after,
			Summary:     "Streams " + route.follows + " as server-sent events",
			Description: route.description(),
			Parameter:   route.parameter,
			Keys:        route.keys,
			KeyOf:       streamKeys,
			LastKey:     lastEventKey,
			Events:      route.events(method.Output()),
		})
	}
	return streams
}

// methodNamed returns a method of the contract by its full name.
func methodNamed(fullName string) protoreflect.MethodDescriptor {
	service, name, _ := strings.Cut(strings.TrimPrefix(fullName, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		panic(err) // The names are those of the generated code.
	}
	return found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
}

// events describes what comes on the route, as eventForm writes it. delivery is the message of which it makes an event.
func (route *eventRoute) events(delivery protoreflect.MessageDescriptor) []openapi.Event {
	field := func(name string) protoreflect.FieldDescriptor {
		return delivery.Fields().ByName(protoreflect.Name(name))
	}
	placed := func(event, schema, description, of string, maybe ...string) openapi.Event {
		made := openapi.Event{
			Name: event, Schema: schema, Description: description, Of: field(of).Message(), Delivery: delivery,
			With: []string{"intent_id", "channel_name"}, Maybe: maybe,
		}
		if field("attempt") != nil {
			made.With = append(made.With, "attempt")
		}
		return made
	}
	var events []openapi.Event
	prefix := "Streamed"
	if field("digest") != nil {
		prefix = "Delivered"
		events = append(events,
			placed(messageEvent, "DeliveredMessage", "A message of a subscription.", "message", "attention", "source_ids", "earlier", "digest"),
			placed(digestEvent, "DeliveredDigest", "A digest of a subscription.", "digest"))
	} else {
		events = append(events, placed(messageEvent, "StreamedMessage", "A message on a stream.", "message",
			"attention", "backfill", "audit_event"))
	}
	for _, name := range message.AnnotationTypes {
		events = append(events, placed(string(name), prefix+"Annotation", "What happened to a message.", "annotation"))
	}
	return append(events, route.otherEvents(field("event").Message())...)
}

// otherEvents describes logged events, and what comes last.
func (route *eventRoute) otherEvents(logged protoreflect.MessageDescriptor) []openapi.Event {
	events := []openapi.Event{
		{
			Name: closedEvent, Schema: "ChannelClosed", Description: "The channel has closed, and everything was delivered.",
			Texts: []string{"reason"},
		},
		{Name: errorEvent, Schema: openapi.Problem},
		{
			Name: probeName, Schema: "StreamedProbe", Description: "A probe, on streams that take part: confirm it.",
			Texts: []string{"probe_id"},
		},
	}
	switch {
	case route.messagesOnly:
		return events
	case route.clientNames:
		return append(events, openapi.Event{
			Schema: "ClientEvent", Description: "A logged event as existing clients read it: the members of its payload, and these.",
			Texts: []string{"event_id", "intent_id", "event_type"},
		})
	}
	return append(events, openapi.Event{Of: logged})
}

func (route *eventRoute) description() string {
	logged := logDescription
	switch {
	case route.messagesOnly:
		logged = ""
	case route.clientNames:
		logged = clientDescription
	}
	cursor := cursorDescription
	if route.cursor == acknowledgedField {
		cursor = acknowledgeDescription
	}
	return messageDescription + logged + cursor + endDescription
}
