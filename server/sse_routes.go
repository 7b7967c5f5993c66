package server

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// eventRoute is a path that serves a stream as server-sent events: before, an id, after.
type eventRoute struct {
	before, after string
	// operation is the operation's name in the API's document.
	operation string
	// follows describes what is streamed, for the API's document.
	follows string
	// parameter names the id.
	parameter string
	// method is the method that streams, and request makes its request for an id.
	method  string
	request func(id string) proto.Message
	// keys are the query keys that fill the request's fields, and cursor is the field that the last event's id fills.
	keys   []string
	cursor string
	// clientNames makes logged events use the names and the data that existing clients read on this path.
	clientNames bool
	// messagesOnly is true when no logged events are sent.
	messagesOnly bool
}

// eventRoutes lists all routes of streams. Intents and agents have two each: the one under /v1/subscribe sends events
// as the log has them, and the other sends them as existing clients read them.
var eventRoutes = []*eventRoute{
	subscribeRoute(eventRoute{
		operation: "SubscribeToChannel",
		before:    "/v1/subscribe/channels/", parameter: "channel_id", messagesOnly: true, follows: "a channel's messages",
	}),
	subscribeRoute(eventRoute{
		operation: "SubscribeToIntent",
		before:    "/v1/subscribe/intents/", parameter: "intent_id", follows: "an intent's log and messages",
	}),
	subscribeRoute(eventRoute{
		operation: "SubscribeToIntentByClientNames",
		before:    "/v1/intents/", after: "/subscribe", parameter: "intent_id", clientNames: true,
		follows: "an intent's log and messages, with the names that existing clients know,",
	}),
	subscribeRoute(eventRoute{
		operation: "SubscribeToAgent",
		before:    "/v1/subscribe/agents/", parameter: "agent_id", follows: "what reaches an agent",
	}),
	subscribeRoute(eventRoute{
		operation: "SubscribeToAgentByClientNames",
		before:    "/v1/agents/", after: "/subscribe", parameter: "agent_id", clientNames: true,
		follows: "what reaches an agent, with the names that existing clients know,",
	}),
	{
		operation: "StreamDeliveries",
		before:    "/v1/subscribe/subscriptions/",
		follows:   "a durable subscription's deliveries",
		parameter: "subscription_id",
		method:    openintentv1.SubscriptionService_StreamDeliveries_FullMethodName,
		request: func(id string) proto.Message {
			return &openintentv1.StreamDeliveriesRequest{SubscriptionId: id}
		},
		keys:   []string{"max_outstanding", "probes"},
		cursor: acknowledgedField,
	},
}

// acknowledgedField is the field that turns a cursor into an acknowledgement.
const acknowledgedField = "acknowledged_through"

// subscribeRoute completes a route to MessageService.Subscribe; the parameter names the scope.
func subscribeRoute(route eventRoute) *eventRoute {
	route.method = openintentv1.MessageService_Subscribe_FullMethodName
	route.request = func(id string) proto.Message {
		request := (&openintentv1.SubscribeRequest{}).ProtoReflect()
		setField(request, route.parameter, protoreflect.ValueOfString(id))
		return request.Interface()
	}
	route.keys = []string{"event_types", "message_type", "correlation_id", "include", "probes"}
	route.cursor = "after_position"
	return &route
}

func setField(message protoreflect.Message, name string, value protoreflect.Value) {
	message.Set(message.Descriptor().Fields().ByName(protoreflect.Name(name)), value)
}

// findEventRoute finds the route of a path and the id, still escaped, that the path names.
func findEventRoute(path string) (route *eventRoute, escapedID string, ok bool) {
	for _, route := range eventRoutes {
		id, begins := strings.CutPrefix(path, route.before)
		id, ends := strings.CutSuffix(id, route.after)
		if begins && ends && id != "" && !strings.Contains(id, "/") {
			return route, id, true
		}
	}
	return nil, "", false
}

// unescape returns the id that a path names.
func (route *eventRoute) unescape(escapedID string) (string, error) {
	id, err := url.PathUnescape(escapedID)
	if err != nil || textProblem(id) != "" {
		return "", fault.BadField(route.parameter, "must be UTF-8 under its escapes.")
	}
	return id, nil
}

// read reads a client's request.
func (route *eventRoute) read(r *http.Request, id string) (proto.Message, error) {
	query, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if !restCallFrom(r.Context()).compatibility {
		known := func(key string) bool { return key == lastEventKey || slices.Contains(route.keys, key) }
		if err := refuseUnknownKeys(query, known); err != nil {
			return nil, err
		}
	}
	request := route.request(id)
	if wrong := setParameters(request.ProtoReflect(), route.filters(query)); len(wrong) > 0 {
		return nil, invalidFields(wrong)
	}
	if subscribe, ok := request.(*openintentv1.SubscribeRequest); ok {
		for i, name := range subscribe.GetEventTypes() {
			subscribe.EventTypes[i] = logName(name)
		}
	}
	return request, route.goOn(request, r.Header.Get("Last-Event-Id"), query.Get(lastEventKey))
}

// filters returns the query keys that fill the request. A key without a value is ignored.
func (route *eventRoute) filters(query url.Values) url.Values {
	filters := make(url.Values, len(route.keys))
	for _, key := range route.keys {
		if texts := query[key]; strings.Join(texts, "") != "" {
			filters[key] = texts
		}
	}
	return filters
}

// lastEventKey is the query key for clients that cannot set the header Last-Event-ID.
const lastEventKey = "last_event_id"

// goOn sets the request's cursor to the last event that the client has, if the client names one.
func (route *eventRoute) goOn(request proto.Message, header, key string) error {
	last, name := header, "Last-Event-ID"
	if last == "" {
		last, name = key, lastEventKey
	}
	if last == "" {
		return nil
	}
	cursor, err := strconv.ParseInt(last, 10, 64)
	if err != nil || cursor < 0 {
		return fault.BadField(name, "must be the id of an event of this stream.")
	}
	setField(request.ProtoReflect(), route.cursor, protoreflect.ValueOfInt64(cursor))
	return nil
}
