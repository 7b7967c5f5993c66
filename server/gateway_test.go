package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

const (
	createIntent  = openintentv1.IntentService_CreateIntent_FullMethodName
	getIntent     = openintentv1.IntentService_GetIntent_FullMethodName
	createChannel = openintentv1.ChannelService_CreateChannel_FullMethodName
	updateChannel = openintentv1.ChannelService_UpdateChannel_FullMethodName
	sendMessage   = openintentv1.MessageService_SendMessage_FullMethodName
	listMessages  = openintentv1.MessageService_ListMessages_FullMethodName
	listEvents    = openintentv1.EventService_ListEvents_FullMethodName
	appendEvent   = openintentv1.EventService_AppendEvent_FullMethodName
)

func TestBothPrefixesAnswerTheSame(t *testing.T) {
	r := newREST(t)
	r.gives(getIntent, &openintentv1.Intent{Id: "i1", Version: 7})
	for _, path := range []string{"/v1/intents/i1", "/api/v1/intents/i1"} {
		got := r.call(t, "GET", path, "")
		require.Equal(t, 200, got.status, got.body)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		require.Equal(t, `"7"`, got.header.Get("ETag"))
		require.Contains(t, got.body, `{"id":"i1","title":"","description":"","status":null,`)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	}
	require.Equal(t, "i1", r.received().(*openintentv1.GetIntentRequest).GetIntentId())
}

func TestCreationAnswers201AndOnlyCreation(t *testing.T) {
	r := newREST(t)
	created := []struct {
		method, path, body string
		response           proto.Message
	}{
		{createIntent, "/v1/intents", `{"title":"T"}`, &openintentv1.Intent{}},
		{openintentv1.IntentService_AssignAgent_FullMethodName, "/v1/intents/i/agents", `{"agent_id":"a"}`, &openintentv1.Assignment{}},
		{appendEvent, "/v1/intents/i/events", `{"event_type":"comment"}`, &openintentv1.Event{}},
		{openintentv1.AccessService_CreateAccessEntry_FullMethodName, "/v1/intents/i/acl/entries",
			`{"principal_id":"a","permission":"read"}`, &openintentv1.AccessEntry{}},
		{openintentv1.CoordinatorService_CreateCoordinator_FullMethodName, "/v1/coordinators", `{"intent_id":"i"}`, &openintentv1.Coordinator{}},
		{openintentv1.CoordinatorService_CreateCoordinator_FullMethodName, "/v1/intents/i/coordinator", ``, &openintentv1.Coordinator{}},
		{openintentv1.AgentService_RegisterAgent_FullMethodName, "/v1/agents", `{}`, &openintentv1.Agent{}},
		{openintentv1.TaskService_CreateTask_FullMethodName, "/v1/intents/i/tasks", `{"name":"n"}`, &openintentv1.Task{}},
		{openintentv1.TaskService_CreateTask_FullMethodName, "/v1/tasks", `{"intent_id":"i","name":"n"}`, &openintentv1.Task{}},
		{createChannel, "/v1/intents/i/channels", `{"name":"n"}`, &openintentv1.Channel{}},
		{sendMessage, "/v1/channels/c/messages", `{"payload":{}}`, &openintentv1.Message{}},
		{openintentv1.MessageService_SendMessageByName_FullMethodName, "/v1/intents/i/channels/n/messages", `{"payload":{}}`, &openintentv1.Message{}},
		{openintentv1.MessageService_ReplyMessage_FullMethodName, "/v1/channels/c/messages/m/reply", `{"payload":{}}`, &openintentv1.Message{}},
		{openintentv1.SubscriptionService_CreateSubscription_FullMethodName, "/v1/subscriptions", `{}`, &openintentv1.Subscription{}},
	}
	for _, test := range created {
		r.gives(test.method, test.response)
		got := r.call(t, "POST", test.path, test.body)
		require.Equal(t, 201, got.status, "%s: %s", test.path, got.body)
	}
	others := []struct {
		method, verb, path, body string
		response                 proto.Message
	}{
		{openintentv1.AgentService_UpsertAgent_FullMethodName, "POST", "/v1/agents/register", `{}`, &openintentv1.Agent{}},
		{openintentv1.MessageService_Ask_FullMethodName, "POST", "/v1/channels/c/ask", `{"to":"a","payload":{}}`, &openintentv1.Message{}},
		{openintentv1.TaskService_ClaimTask_FullMethodName, "POST", "/v1/tasks/t/claim", ``, &openintentv1.Task{}},
		{openintentv1.AgentService_UpdateAgentStatus_FullMethodName, "PUT", "/v1/agents/a/status", `{"status":"busy"}`, &openintentv1.Agent{}},
		{openintentv1.AgentService_WhoAmI_FullMethodName, "GET", "/v1/whoami", ``, &openintentv1.WhoAmIResponse{}},
		{openintentv1.AgentService_GetAgent_FullMethodName, "GET", "/v1/agents/a/record", ``, &openintentv1.Agent{}},
		{openintentv1.MessageService_GetMessage_FullMethodName, "GET", "/v1/channels/-/messages/m", ``, &openintentv1.Message{}},
		{openintentv1.MessageService_MarkInboxRead_FullMethodName, "POST", "/v1/agents/a/inbox/read", `{"message_ids":["m"]}`,
			&openintentv1.MarkInboxReadResponse{}},
		{openintentv1.SubscriptionService_AcknowledgeDeliveries_FullMethodName, "POST", "/v1/subscriptions/s/acknowledge",
			`{"through":5,"numbers":[7]}`, &openintentv1.Subscription{}},
		{openintentv1.SubscriptionService_RedriveDeadLetters_FullMethodName, "POST", "/v1/subscriptions/s/dead_letters/redrive", `{}`,
			&openintentv1.Subscription{}},
	}
	for _, test := range others {
		r.gives(test.method, test.response)
		got := r.call(t, test.verb, test.path, test.body)
		require.Equal(t, 200, got.status, "%s: %s", test.path, got.body)
	}
}

func TestDeletionAnswers204WithoutABody(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.IntentService_UnassignAgent_FullMethodName, &emptypb.Empty{})
	got := r.call(t, "DELETE", "/v1/intents/i/agents/a%20b", "")
	require.Equal(t, 204, got.status)
	require.Empty(t, got.body)
	require.Empty(t, got.header.Get("Content-Type"))
	require.Equal(t, "a b", r.received().(*openintentv1.UnassignAgentRequest).GetAgentId())
}

func TestDeletedChannelIsClosed(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.ChannelService_DeleteChannel_FullMethodName, &openintentv1.DeleteChannelResponse{
		Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, ChannelId: "c",
	})
	got := r.call(t, "DELETE", "/v1/channels/c", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, `{"status":"closed","channel_id":"c"}`, got.body)
}

func TestADeletedSubscriptionIsTold(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.SubscriptionService_DeleteSubscription_FullMethodName, &openintentv1.DeleteSubscriptionResponse{
		SubscriptionId: "s", Status: "deleted",
	})
	got := r.call(t, "DELETE", "/v1/subscriptions/s", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, `{"subscription_id":"s","status":"deleted"}`, got.body)
}

func TestListsAreBareArraysOrObjectsAsTheContractSays(t *testing.T) {
	r := newREST(t)
	for _, test := range []struct {
		method, path, want string
		response           proto.Message
	}{
		{openintentv1.ChannelService_ListChannels_FullMethodName, "/v1/intents/i/channels", `[]`, &openintentv1.ListChannelsResponse{}},
		{listMessages, "/v1/channels/c/messages", `[]`, &openintentv1.ListMessagesResponse{}},
		{listEvents, "/v1/intents/i/events", `[]`, &openintentv1.ListEventsResponse{}},
		{openintentv1.TaskService_ListTasks_FullMethodName, "/v1/intents/i/tasks", `[]`, &openintentv1.ListTasksResponse{}},
		{openintentv1.MessageService_AwaitResponses_FullMethodName, "/v1/channels/c/messages/m/responses", `[]`, &openintentv1.AwaitResponsesResponse{}},
		{openintentv1.MessageService_ListMessageDeliveries_FullMethodName, "/v1/channels/c/messages/m/deliveries", `[]`, &openintentv1.ListMessageDeliveriesResponse{}},
		{openintentv1.MessageService_ListRevisions_FullMethodName, "/v1/channels/c/messages/m/revisions", `[]`, &openintentv1.ListRevisionsResponse{}},
		{openintentv1.SubscriptionService_ListSubscriptions_FullMethodName, "/v1/subscriptions", `[]`, &openintentv1.ListSubscriptionsResponse{}},
		{openintentv1.SubscriptionService_FetchDeliveries_FullMethodName, "/v1/subscriptions/s/deliveries", `[]`, &openintentv1.FetchDeliveriesResponse{}},
		{openintentv1.SubscriptionService_ListDeadLetters_FullMethodName, "/v1/subscriptions/s/dead_letters", `[]`, &openintentv1.ListDeadLettersResponse{}},
		{openintentv1.MessageService_GetThread_FullMethodName, "/v1/channels/c/messages/m/thread",
			`{"root":null,"messages":[],"participants":[],"last_position":0,"next_cursor":null,"reactions":[],"claim":null,"bounded":false}`, &openintentv1.Thread{}},
		{openintentv1.MessageService_GetInbox_FullMethodName, "/v1/agents/a/inbox",
			`{"items":[],"unread_count":0,"unanswered_count":0,"next_cursor":null,"bounded":false,"counts_bounded":false}`, &openintentv1.Inbox{}},
		{openintentv1.IntentService_ListIntents_FullMethodName, "/v1/intents", `{"intents":[],"total":0,"next_cursor":null,"total_bounded":false,"bounded":false}`, &openintentv1.ListIntentsResponse{}},
		{openintentv1.AgentService_ListAgents_FullMethodName, "/v1/agents", `{"agents":[],"total":0,"next_cursor":null,"total_bounded":false}`, &openintentv1.ListAgentsResponse{}},
	} {
		r.gives(test.method, test.response)
		got := r.call(t, "GET", test.path, "")
		require.Equal(t, 200, got.status, got.body)
		require.Equal(t, test.want, got.body, test.path)
	}
}

func TestALinkLeadsToTheNextPage(t *testing.T) {
	r := newREST(t)
	r.gives(listMessages, &openintentv1.ListMessagesResponse{
		Messages: []*openintentv1.Message{{Id: "m1"}}, NextSince: proto.String("m1"),
	})
	got := r.call(t, "GET", "/api/v1/channels/c%20d/messages?to=agent-a&since=m0&limit=1", "")
	require.Equal(t, `</api/v1/channels/c%20d/messages?limit=1&since=m1&to=agent-a>; rel="next"`, got.header.Get("Link"))

	r.gives(listMessages, &openintentv1.ListMessagesResponse{NextSince: proto.String("m1")})
	require.Empty(t, r.call(t, "GET", "/v1/channels/c/messages", "").header.Get("Link"), "an empty page is the last one")

	// A page that ended because it had looked at enough leads on: to what comes after it, or to the beginning.
	r.gives(listMessages, &openintentv1.ListMessagesResponse{NextSince: proto.String("t1"), Bounded: true})
	got = r.call(t, "GET", "/v1/channels/c/messages?kind=k&since=t0", "")
	require.Equal(t, []string{`</v1/channels/c/messages?kind=k&since=t1>; rel="next"`}, got.header.Values("Link"))
	got = r.call(t, "GET", "/v1/channels/c/messages?kind=k", "")
	require.Equal(t, []string{`</v1/channels/c/messages?kind=k&since=1970-01-01T00%3A00%3A00Z>; rel="first"`}, got.header.Values("Link"))

	// Beside the newest messages that it found, it has both links.
	r.gives(listMessages, &openintentv1.ListMessagesResponse{
		Messages: []*openintentv1.Message{{Id: "m1"}}, NextSince: proto.String("m1"), Bounded: true,
	})
	require.Equal(t, []string{
		`</v1/channels/c/messages?kind=k&since=m1>; rel="next"`,
		`</v1/channels/c/messages?kind=k&since=1970-01-01T00%3A00%3A00Z>; rel="first"`,
	}, r.call(t, "GET", "/v1/channels/c/messages?kind=k", "").header.Values("Link"))
}

// A cursor and an offset are not given together.
func TestAPageThatBeganWithAnOffsetLeadsOnWithACursorAlone(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.IntentService_ListIntents_FullMethodName, &openintentv1.ListIntentsResponse{NextCursor: proto.String("c1")})
	r.gives(listEvents, &openintentv1.ListEventsResponse{NextCursor: proto.String("c1")})
	for _, path := range []string{"/v1/intents", "/v1/intents/i/events"} {
		got := r.call(t, "GET", path+"?limit=1&offset=1", "")
		require.Equal(t, 200, got.status, got.body)
		require.Equal(t, []string{"<" + path + `?cursor=c1&limit=1>; rel="next"`}, got.header.Values("Link"))
	}
}

func TestVerifyIsNoEventID(t *testing.T) {
	r := newREST(t)
	r.gives(openintentv1.EventService_VerifyEvents_FullMethodName, &openintentv1.VerifyEventsResponse{IntentId: "i"})
	r.gives(openintentv1.EventService_GetEvent_FullMethodName, &openintentv1.Event{Id: "e"})
	require.Contains(t, r.call(t, "GET", "/v1/intents/i/events/verify", "").body, `"breaks":[]`)
	require.Contains(t, r.call(t, "GET", "/v1/intents/i/events/e", "").body, `"id":"e"`)
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	r := newREST(t)
	for _, path := range []string{"//", "/nothing", "/v1", "/v1/", "/v1/nothing", "/api/v2/intents", "/v1/intents/", "/v1/channels/c/",
		"/v1/subscribe/channels/", "/v1/subscribe/channels/c/d", "/v1/subscribe/portfolios/p", "/v1/portfolios/p/subscribe",
		"/v1/intents//subscribe", "/v1/subscribe/subscriptions/", "/v1/subscribe/channels/c/subscribe", "/v1/subscribe"} {
		problem := problemOf(t, r.call(t, "GET", path, ""), 404)
		require.Equal(t, "ROUTE_NOT_FOUND", problem["reason"], path)
		require.Equal(t, "NOT_FOUND", problem["code"])
	}
	for _, test := range []struct{ verb, path, allow string }{
		{"PUT", "/v1/channels/c", "DELETE, GET, HEAD, PATCH"},
		{"GET", "/v1/channels/c/ask", "POST"},
		{"OPTIONS", "/api/v1/intents", "GET, HEAD, POST"},
		{"POST", "/v1/intents/i/events/verify", "GET, HEAD"},
		{"POST", "/v1/subscribe/channels/c", "GET"},
		{"HEAD", "/v1/subscribe/channels/c", "GET"},
		{"POST", "/v1/intents/i/subscribe", "GET"},
		{"PUT", "/api/v1/subscribe/subscriptions/s", "GET"},
		{"PUT", "/v1/subscriptions", "GET, HEAD, POST"},
		{"POST", "/v1/subscriptions/s", "DELETE, GET, HEAD, PATCH"},
		{"DELETE", "/v1/subscriptions/s/deliveries", "GET, HEAD"},
		{"GET", "/v1/subscriptions/s/dead_letters/redrive", "POST"},
		{"GET", "/v1/subscriptions/s/acknowledge", "POST"},
		{"POST", "/v1/agents/a/inbox", "GET, HEAD"},
		{"GET", "/v1/agents/a/inbox/read", "POST"},
		{"POST", "/v1/channels/c/messages/m/deliveries", "GET, HEAD"},
		{"POST", "/v1/server/config", "GET, HEAD"},
		{"DELETE", "/openapi.json", "GET, HEAD"},
	} {
		got := r.call(t, test.verb, test.path, "")
		require.Equal(t, test.allow, got.header.Get("Allow"), test.path)
		if test.verb == "HEAD" {
			require.Equal(t, 405, got.status)
			continue
		}
		problem := problemOf(t, got, 405)
		require.Equal(t, "METHOD_NOT_ALLOWED", problem["reason"])
		require.Equal(t, "UNIMPLEMENTED", problem["code"])
	}
	require.Nil(t, r.received())
}

func TestAFormOrAnOverrideChangesNoMethod(t *testing.T) {
	r := newREST(t)
	form := "application/x-www-form-urlencoded"
	problemOf(t, r.call(t, "POST", "/v1/channels/c", "", "Content-Type", form), 405)
	problemOf(t, r.call(t, "POST", "/v1/channels/c", "", "Content-Type", form, "X-HTTP-Method-Override", "DELETE"), 405)
	r.gives(createChannel, &openintentv1.Channel{})
	got := r.call(t, "POST", "/v1/intents/i/channels", `{"name":"n"}`, "Content-Type", form)
	require.Equal(t, 201, got.status, "curl sends JSON with this content type: %s", got.body)
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	r := newREST(t)
	r.gives(getIntent, &openintentv1.Intent{Version: 3})
	got := r.call(t, "HEAD", "/v1/intents/i", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, `"3"`, got.header.Get("ETag"))
	require.Empty(t, got.body)
}

func TestKeysComeBeforeEverythingElse(t *testing.T) {
	r := newREST(t)
	for _, path := range []string{"/v1/intents/i", "/v1/nothing", "/v1/subscribe/channels/c", "/v1/server/config", "/api/v1/intents?x=1"} {
		got := r.call(t, "GET", path, "", "X-API-Key", "")
		require.Equal(t, "UNAUTHENTICATED", problemOf(t, got, 401)["code"], path)
		require.Equal(t, `Bearer realm="openintent"`, got.header.Get("WWW-Authenticate"))
		problemOf(t, r.call(t, "POST", path, "{", "X-API-Key", "wrong"), 401)
	}
	problemOf(t, r.call(t, "GET", "/v1/intents/i", "", "X-API-Key", "bound", "X-Agent-ID", "agent-b"), 403)
	require.Nil(t, r.received())
}

func TestAHeaderThatMetadataCannotCarryIsRefused(t *testing.T) {
	r := newREST(t)
	problem := problemOf(t, r.call(t, "GET", "/v1/intents/i", "", "X-Agent-ID", "agént"), 400)
	require.Contains(t, badFields(problem), "X-Agent-Id", "without this header the caller would be the operator")
}

func TestACallCarriesTheClientsHeadersAndAddress(t *testing.T) {
	r := newREST(t)
	var who caller.Caller
	var from string
	var md metadata.MD
	r.does(sendMessage, func(ctx context.Context, _ proto.Message) (proto.Message, error) {
		who, _ = caller.From(ctx)
		client, _ := peer.FromContext(ctx)
		from = client.Addr.String()
		md, _ = metadata.FromIncomingContext(ctx)
		return &openintentv1.Message{}, nil
	})
	got := r.call(t, "POST", "/v1/channels/c/messages", `{"payload":{}}`, "X-API-Key", "", "Authorization", "Bearer open",
		"X-Agent-ID", "agent-z", "Idempotency-Key", "k1", "Traceparent", "00-a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6-a1b2c3d4e5f6a7b8-01",
		"Cookie", "secret", "Grpc-Metadata-X-Agent-Id", "agent-y")
	require.Equal(t, 201, got.status, got.body)
	require.Equal(t, "agent-z", who.Agent)
	require.Equal(t, "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", who.TraceID)
	require.True(t, strings.HasPrefix(from, "127.0.0.1:"), from)
	require.Equal(t, "k1", r.received().(*openintentv1.SendMessageRequest).GetIdempotencyKey())
	require.Equal(t, []string{"Bearer open"}, md.Get("authorization"))
	require.NotContains(t, fmt.Sprint(md), "secret")
	require.NotContains(t, fmt.Sprint(md), "agent-y")
}

func TestIfMatchIsTheExpectedVersion(t *testing.T) {
	r := newREST(t)
	const setStatus = openintentv1.IntentService_SetIntentStatus_FullMethodName
	r.gives(setStatus, &openintentv1.Intent{Version: 6})
	got := r.call(t, "POST", "/v1/intents/i/status", `{"status":"active"}`, "If-Match", `W/"5"`)
	require.Equal(t, 200, got.status, got.body)
	require.Equal(t, `"6"`, got.header.Get("ETag"))
	require.EqualValues(t, 5, r.received().(*openintentv1.SetIntentStatusRequest).GetExpectedVersion())

	r.fails(setStatus, fault.New(fault.VersionMismatch, "VERSION_MISMATCH", "The version is another.").With("current_version", "6"))
	got = r.call(t, "POST", "/v1/intents/i/status", `{"status":"active"}`, "If-Match", `5`)
	problem := problemOf(t, got, 409)
	require.EqualValues(t, 6, problem["current_version"])
	require.Equal(t, "ABORTED", problem["code"])
	require.Contains(t, got.body, `"current_version":6`)
}

func TestCompatibilityProfile(t *testing.T) {
	r := newREST(t)
	event := &openintentv1.Event{EventType: "channel_message"}
	r.gives(openintentv1.AgentService_ListAgents_FullMethodName, &openintentv1.ListAgentsResponse{
		Agents: []*openintentv1.Agent{{AgentId: "a"}}, Total: 1,
	})
	r.gives(listEvents, &openintentv1.ListEventsResponse{Events: []*openintentv1.Event{event, {EventType: "comment"}}})
	r.gives(openintentv1.EventService_GetEvent_FullMethodName, event)
	r.gives(appendEvent, event)
	r.gives(createChannel, &openintentv1.Channel{})

	agents := r.call(t, "GET", "/api/v1/agents?whatever=1", "", "X-API-Key", "old").body
	require.True(t, strings.HasPrefix(agents, `[{"agent_id":"a",`), agents)
	events := r.call(t, "GET", "/api/v1/intents/i/events?event_type=channel.message", "", "X-OpenIntent-Compat", "sdk").body
	require.Contains(t, events, `"event_type":"channel.message"`)
	require.Contains(t, events, `"event_type":"comment"`)
	require.Equal(t, "channel_message", r.received().(*openintentv1.ListEventsRequest).GetEventType())
	require.Contains(t, r.call(t, "GET", "/api/v1/intents/i/events/e", "", "X-API-Key", "old").body, `"event_type":"channel.message"`)
	appended := r.call(t, "POST", "/api/v1/intents/i/events", `{"event_type":"channel.message","id":"x"}`, "X-API-Key", "old")
	require.Equal(t, 201, appended.status, appended.body)
	require.Contains(t, appended.body, `"event_type":"channel.message"`)
	require.Equal(t, "channel_message", r.received().(*openintentv1.AppendEventRequest).GetEventType())
	require.Equal(t, 201, r.call(t, "POST", "/v1/intents/i/channels", `{"name":"n","x":{}}`, "X-API-Key", "old").status)

	require.Contains(t, r.call(t, "GET", "/v1/agents", "").body, `{"agents":[`)
	require.Contains(t, r.call(t, "GET", "/v1/intents/i/events/e", "").body, `"event_type":"channel_message"`)
	require.Equal(t, "channel_message", event.GetEventType(), "the service's own event stays as it is")
	problemOf(t, r.call(t, "POST", "/v1/intents/i/channels", `{"name":"n","x":{}}`), 400)
}

func TestEveryBindingIsServed(t *testing.T) {
	table, err := newRoutes()
	require.NoError(t, err)
	require.Len(t, table.byPattern, len(table.all), "two bindings have the same path")
	r := newREST(t)
	for _, route := range table.all {
		path := "/"
		for i, segment := range route.segments {
			if i > 0 {
				path += "/"
			}
			path += strings.Trim(segment, "{}")
		}
		got := r.call(t, route.verb, path, "")
		require.NotContains(t, []int{404, 405, 500}, got.status, "%s %s: %s", route.verb, path, got.body)
	}
}

func TestRefusalsOfTheGatewayAreLoggedAndCounted(t *testing.T) {
	r := newREST(t)
	r.call(t, "GET", "/v1/intents/i?x=secret", "", "X-API-Key", "wrong-secret")
	r.call(t, "GET", "/v1/subscribe/channels/c", "", "X-API-Key", "wrong-secret")
	r.call(t, "POST", "/v1/channels/c/messages", `{"secret":1}`)
	r.call(t, "GET", "/nothing", "")
	log := r.log.String()
	require.Equal(t, 4, strings.Count(log, `"msg":"request refused"`), log)
	require.Contains(t, log, `"reason":"API_KEY_UNKNOWN"`)
	require.Contains(t, log, `"path":"/v1/channels/c/messages","code":"INVALID_ARGUMENT","reason":"INVALID_FIELD"`)
	require.NotContains(t, log, "secret")
	counted := scrape(r.metrics)
	require.Contains(t, counted, `openintent_requests_total{code="UNAUTHENTICATED",method="REST"} 2`)
	require.Contains(t, counted, `openintent_requests_total{code="NOT_FOUND",method="REST"} 1`)
}
