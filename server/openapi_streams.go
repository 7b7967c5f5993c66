package server

import (
	"strconv"
	"strings"
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
	"max_outstanding": "How many deliveries may be unacknowledged at the same time, 1 to 1,000; 100 when absent.",
}

// streamPaths returns the paths of event streams, which the annotations do not contain.
func streamPaths() map[string]map[string]operation {
	paths := make(map[string]map[string]operation, len(eventRoutes))
	seen := make(map[string]int)
	for _, route := range eventRoutes {
		id := strings.ReplaceAll(strings.TrimPrefix(route.method, "/openintent.v1."), "/", "_")
		if seen[id]++; seen[id] > 1 {
			id += strconv.Itoa(seen[id])
		}
		service, _, _ := strings.Cut(id, "_")
		paths[route.before+"{"+route.parameter+"}"+route.after] = map[string]operation{"get": {
			"summary":     "Streams " + route.follows + " as server-sent events.",
			"description": route.description(),
			"operationId": id,
			"produces":    []string{"text/event-stream"},
			"parameters":  route.openParameters(),
			"responses": map[string]any{
				"200":     map[string]any{"description": "The stream."},
				"default": map[string]any{"description": "A failure.", "schema": map[string]any{"$ref": "#/definitions/Problem"}},
			},
			"tags": []string{service},
		}}
	}
	return paths
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

func (route *eventRoute) openParameters() []map[string]any {
	parameter := func(name, in, description string) map[string]any {
		return map[string]any{
			"name": name, "in": in, "required": in == "path", "type": "string", "description": description,
		}
	}
	parameters := []map[string]any{
		parameter(route.parameter, "path", "What to follow."),
		parameter("Last-Event-ID", "header", "Continue after this event; absent: begin now, or where the subscription is."),
		parameter(lastEventKey, "query", "The same, for clients that cannot set headers."),
	}
	for _, key := range route.keys {
		parameters = append(parameters, parameter(key, "query", streamKeys[key]))
	}
	return parameters
}
