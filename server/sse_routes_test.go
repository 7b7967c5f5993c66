package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// asking refuses every stream and returns a function that reports the request that was made.
func (r *rest) asking(t *testing.T) func(path string, headers ...string) proto.Message {
	asked := make(chan proto.Message, 1)
	refusal := fault.New(fault.NotFound, "ABSENT", "There is nothing.")
	r.service.subscribe = func(request *openintentv1.SubscribeRequest, _ subscription) error {
		asked <- request
		return refusal
	}
	r.durable.stream = func(request *openintentv1.StreamDeliveriesRequest, _ deliveryStream) error {
		asked <- request
		return refusal
	}
	return func(path string, headers ...string) proto.Message {
		t.Helper()
		got := r.call(t, http.MethodGet, path, "", headers...)
		require.Equal(t, "ABSENT", problemOf(t, got, 404)["reason"], got.body)
		return <-asked
	}
}

func TestEveryPathAsksForItsScope(t *testing.T) {
	ask := newREST(t).asking(t)
	for path, want := range map[string]*openintentv1.SubscribeRequest{
		"/v1/subscribe/channels/a%20b": {Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: "a b"}},
		"/v1/subscribe/intents/a%20b":  {Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: "a b"}},
		"/v1/intents/a%20b/subscribe":  {Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: "a b"}},
		"/v1/subscribe/agents/a%20b":   {Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "a b"}},
		"/v1/agents/a%20b/subscribe":   {Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "a b"}},
	} {
		for _, prefix := range []string{"", "/api"} {
			require.True(t, proto.Equal(want, ask(prefix+path)), path)
			withCursor := proto.Clone(want).(*openintentv1.SubscribeRequest)
			withCursor.AfterPosition = proto.Int64(7)
			require.True(t, proto.Equal(withCursor, ask(prefix+path, "Last-Event-ID", "7")), path)
			require.True(t, proto.Equal(withCursor, ask(prefix+path+"?last_event_id=7")), path)
			require.True(t, proto.Equal(withCursor, ask(prefix+path+"?last_event_id=8", "Last-Event-ID", "7")), "the header wins")
		}
	}
	durable := &openintentv1.StreamDeliveriesRequest{SubscriptionId: "a b"}
	require.True(t, proto.Equal(durable, ask("/v1/subscribe/subscriptions/a%20b")))
	durable.AcknowledgedThrough = proto.Int64(7)
	require.True(t, proto.Equal(durable, ask("/api/v1/subscribe/subscriptions/a%20b", "Last-Event-ID", "7")))
	durable.MaxOutstanding, durable.Probes = proto.Int32(3), true
	require.True(t, proto.Equal(durable, ask("/v1/subscribe/subscriptions/a%20b?last_event_id=7&max_outstanding=3&probes=true")))
}

func TestFiltersTakeTheNamesOfBothPaths(t *testing.T) {
	ask := newREST(t).asking(t)
	for _, path := range []string{"/v1/subscribe/intents/i", "/v1/intents/i/subscribe"} {
		request := ask(path + "?event_types=STATE_CHANGED,status_changed,AGENT_ASSIGNED&event_types=LEASE_ACQUIRED,LEASE_RELEASED," +
			"channel.message,channel_message,task.created&message_type=request&correlation_id=m1").(*openintentv1.SubscribeRequest)
		require.Equal(t, []string{"state_patched", "status_changed", "agent_assigned", "lease_acquired", "lease_released",
			"channel_message", "channel_message", "task.created"}, request.GetEventTypes())
		require.Equal(t, openintentv1.MessageType_MESSAGE_TYPE_REQUEST, request.GetMessageType())
		require.Equal(t, "m1", request.GetCorrelationId())
	}
	request := ask("/v1/subscribe/intents/i?event_types=&message_type=&correlation_id=").(*openintentv1.SubscribeRequest)
	require.True(t, proto.Equal(&openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: "i"},
	}, request), "a key without a value is ignored")
	request = ask("/v1/subscribe/intents/i?colour=red&after_position=5", "X-API-Key", "old").(*openintentv1.SubscribeRequest)
	require.Nil(t, request.AfterPosition, "the profile of existing clients ignores what it does not know") //nolint:protogetter // unset differs from 0
}

func TestWhatAStreamCannotBeAskedFor(t *testing.T) {
	r := newREST(t)
	for _, test := range []struct{ path, field string }{
		{"/v1/subscribe/intents/i?colour=red", "colour"},
		{"/v1/subscribe/intents/i?after_position=5", "after_position"},
		{"/v1/intents/i/subscribe?channel_id=c", "channel_id"},
		{"/v1/subscribe/channels/c?max_outstanding=3", "max_outstanding"},
		{"/v1/subscribe/agents/a?message_type=letter", "message_type"},
		{"/v1/agents/a/subscribe?message_type=request&message_type=notify", "message_type"},
		{"/v1/subscribe/intents/i?event_types=a,,b", "event_types[1]"},
		{"/v1/subscribe/subscriptions/s?event_types=a", "event_types"},
		{"/v1/subscribe/subscriptions/s?max_outstanding=0", "max_outstanding"},
		{"/v1/subscribe/subscriptions/s?max_outstanding=many", "max_outstanding"},
		{"/v1/subscribe/subscriptions/s?last_event_id=-1", "last_event_id"},
		{"/v1/subscribe/subscriptions/%00", "subscription_id"},
		{"/v1/agents/%ff/subscribe", "agent_id"},
	} {
		problem := problemOf(t, r.call(t, http.MethodGet, test.path, ""), 400)
		require.Contains(t, badFields(problem), test.field, test.path)
	}
	problemOf(t, r.call(t, http.MethodGet, "/v1/intents/i/subscribe", "", "X-API-Key", ""), 401)
}
