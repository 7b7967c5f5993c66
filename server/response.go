package server

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
)

// These are the names of a message's entry in the event log: the RFC's, and the one that existing clients read.
const (
	messageEventType = "channel_message"
	clientEventType  = "channel.message"
)

// removedHeader is the header of a list of events that says up to which sequence the log's events were removed.
const removedHeader = "X-Events-Removed-Through"

// causeHeader is the header of a wait for responses that says why there are not as many as wanted: over REST the body has the responses alone.
const causeHeader = "X-Openintent-Cause"

// creations are the methods that create something and so answer 201.
var creations = map[string]bool{
	openintentv1.IntentService_CreateIntent_FullMethodName:             true,
	openintentv1.IntentService_AssignAgent_FullMethodName:              true,
	openintentv1.EventService_AppendEvent_FullMethodName:               true,
	openintentv1.AccessService_CreateAccessEntry_FullMethodName:        true,
	openintentv1.CoordinatorService_CreateCoordinator_FullMethodName:   true,
	openintentv1.AgentService_RegisterAgent_FullMethodName:             true,
	openintentv1.TaskService_CreateTask_FullMethodName:                 true,
	openintentv1.LeaseService_AcquireLease_FullMethodName:              true,
	openintentv1.ChannelService_CreateChannel_FullMethodName:           true,
	openintentv1.MessageService_SendMessage_FullMethodName:             true,
	openintentv1.MessageService_SendMessageByName_FullMethodName:       true,
	openintentv1.MessageService_ReplyMessage_FullMethodName:            true,
	openintentv1.SubscriptionService_CreateSubscription_FullMethodName: true,
	openintentv1.KeyService_CreateKey_FullMethodName:                   true,
	openintentv1.InviteService_CreateInvite_FullMethodName:             true,
}

// completeResponse sets a response's status and headers.
func completeResponse(ctx context.Context, w http.ResponseWriter, response proto.Message) error {
	if response == nil {
		return nil
	}
	switch message := response.ProtoReflect().Interface().(type) {
	case *emptypb.Empty:
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusNoContent)
		return nil
	case *openintentv1.ListMessagesResponse:
		linkMessages(w, restCallFrom(ctx), message)
	case *openintentv1.ListEventsResponse:
		linkNextPage(w, restCallFrom(ctx), "cursor", message.GetNextCursor())
		if removed := message.GetCheckpoint(); removed != nil {
			w.Header().Set(removedHeader, strconv.FormatInt(removed.GetSequence(), 10))
		}
	case *openintentv1.AwaitResponsesResponse:
		if cause := message.GetCause(); cause != "" {
			w.Header().Set(causeHeader, cause)
		}
	case *openintentv1.IssuedKey, *openintentv1.IssuedInvite:
		w.Header().Set("Cache-Control", "no-store")
	case interface{ GetNextCursor() string }:
		linkNextPage(w, restCallFrom(ctx), "cursor", message.GetNextCursor())
	case interface{ GetVersion() int64 }:
		w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(message.GetVersion(), 10)))
	}
	if method, _ := runtime.RPCMethod(ctx); creations[method] {
		w.WriteHeader(http.StatusCreated)
	}
	return nil
}

// fromTheOldest is before every message.
const fromTheOldest = "1970-01-01T00:00:00Z"

// linkMessages sets the links of a page of messages. An empty page has nothing after it yet, unless it ended because it had looked at
// enough. If such a page has the newest messages, older ones are found from the first page on.
func linkMessages(w http.ResponseWriter, call *restCall, page *openintentv1.ListMessagesResponse) {
	newest := call.query.Get("since") == ""
	if len(page.GetMessages()) > 0 || page.GetBounded() && !newest {
		linkNextPage(w, call, "since", page.GetNextSince())
	}
	if page.GetBounded() && newest {
		addLink(w, call, "since", fromTheOldest, "first")
	}
}

// linkNextPage sets the link to the next page: the same query, with the cursor as the parameter.
func linkNextPage(w http.ResponseWriter, call *restCall, parameter, cursor string) {
	if cursor != "" {
		addLink(w, call, parameter, cursor, "next")
	}
}

// addLink adds a link to the same query with another cursor.
func addLink(w http.ResponseWriter, call *restCall, parameter, cursor, relation string) {
	query := make(url.Values, len(call.query)+1)
	for key, values := range call.query {
		query[key] = values
	}
	query.Set(parameter, cursor)
	if parameter == "cursor" {
		query.Del("offset")
	}
	w.Header().Add("Link", "<"+call.path+"?"+query.Encode()+`>; rel="`+relation+`"`)
}

// rewriteResponse gives existing clients the forms that they read: agents as a bare array, and the log entry of a
// message under the name that they know. All other clients get the response unchanged.
func rewriteResponse(ctx context.Context, response proto.Message) (any, error) {
	if response == nil || !restCallFrom(ctx).compatibility {
		return response, nil
	}
	switch message := response.ProtoReflect().Interface().(type) {
	case *openintentv1.ListAgentsResponse:
		return agentList{message}, nil
	case *openintentv1.Event:
		return clientEvent(message), nil
	case *openintentv1.ListEventsResponse:
		return eventList{message}, nil
	case *openintentv1.ListTraceEventsResponse:
		return eventList{message}, nil
	}
	return response, nil
}

// agentList has the agents alone as its body.
type agentList struct {
	*openintentv1.ListAgentsResponse
}

// XXX_ResponseBody is the method in which the gateway looks for a body that is not the whole response.
func (l agentList) XXX_ResponseBody() any { return l.GetAgents() }

// eventList has the events as its body, under the names that existing clients know.
type eventList struct {
	events interface{ GetEvents() []*openintentv1.Event }
}

// XXX_ResponseBody is the method in which the gateway looks for a body that is not the whole response.
func (l eventList) XXX_ResponseBody() any {
	events := make([]*openintentv1.Event, 0, len(l.events.GetEvents()))
	for _, event := range l.events.GetEvents() {
		events = append(events, clientEvent(event))
	}
	return events
}

// clientEvent returns an event under the name that existing clients know. It copies the event, because others may
// hold the original.
func clientEvent(event *openintentv1.Event) *openintentv1.Event {
	if event.GetEventType() != messageEventType {
		return event
	}
	renamed := &openintentv1.Event{}
	if err := handOver(event, renamed); err != nil {
		return event
	}
	renamed.EventType = clientEventType
	return renamed
}
