package strangers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// withoutPlace are the calls that name neither an intent nor anything in one. TestAScopedKeySeesOnlyWhatLiesInItsScope is
// about them. Every other call of the contract must refuse what lies outside of a key's scope.
var withoutPlace = []string{
	"IntentService/CreateIntent", "IntentService/OpenIntent", "IntentService/ListIntents", "EventService/ListTraceEvents",
	"MessageService/GetInbox", "MessageService/MarkInboxRead", "AttentionService/MarkSurfaced", "AttentionService/HandOver", "ObligationService/ListObligations",
	"AgentService/WhoAmI", "AgentService/RegisterAgent", "AgentService/UpsertAgent", "AgentService/GetAgent", "AgentService/ListAgents",
	"AgentService/UpdateAgentStatus", "AgentService/Heartbeat", "AgentService/DeregisterAgent",
	"AgentService/RefuseSender", "AgentService/AllowSender", "AgentService/ListRefusedSenders", "ReachService/GetReach",
	"ReachService/ProbeAgent", "ReachService/ConfirmProbe",
	"ContactService/SetContacts", "ContactService/ListContacts", "ContactService/ProveContact", "ContactService/SendContactCode",
	"ContactService/GetWebPushKey",
	"SubscriptionService/GetSubscription", "SubscriptionService/UpdateSubscription", "SubscriptionService/DeleteSubscription",
	"SubscriptionService/StreamDeliveries",
	"SubscriptionService/FetchDeliveries", "SubscriptionService/AcknowledgeDeliveries",
	"ExperimentalService/StreamAcknowledgements", "SubscriptionService/ListDeadLetters", "SubscriptionService/RedriveDeadLetters",
	"ExchangeService/Exchange", // each of its requests is kept to the scope by itself
	"KeyService/CreateKey", "KeyService/ListKeys", "KeyService/GetKey", "KeyService/RevokeKey", "KeyService/RotateKey", "ServerService/GetServer",
}

// placeFields are the fields of requests that name places, with the world's names of such places outside of the scopes.
var placeFields = map[string]string{
	"intent_id": "intent", "channel_id": "room", "task_id": "task", "coordinator_id": "coordinator", "channel.id": "room",
}

// The keys of the creator of everything, each for one place only, open nothing else: neither what exists nor what does not.
func TestAScopedKeyOpensNothingOutsideOfItsScope(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		keys := []issued{
			w.issue(t, w.fill(`{"label":"an intent","agents":["alice"],"roles":["*"],"intents":["{other_intent}","nowhere"]}`)),
			w.issue(t, w.fill(`{"label":"a channel","agents":["alice"],"roles":["*"],"channels":["{other_room}","nowhere"]}`)),
			w.issue(t, w.fill(`{"label":"both","agents":["alice"],"intents":["{other_intent}"],"channels":["{other_room}"]}`)),
		}
		for _, key := range keys {
			w.opensOnlyItsScope(t, key.Secret)
		}
		w.goesOn(t)
	})
}

// anyChannelReasons are how the calls that take - for a channel refuse what lies outside of a scope: as what is not there.
var anyChannelReasons = map[string]string{
	"MessageService/GetMessage": "MESSAGE_NOT_FOUND", "ChannelService/GetChannel": "CHANNEL_NOT_FOUND",
}

// opensOnlyItsScope makes every call of the contract on places outside of a key's scope: {intent} and {room} are none of it.
func (w *world) opensOnlyItsScope(t *testing.T, secret string) {
	t.Helper()
	before, attacks := w.ledger(t), 0
	denied("OUT_OF_SCOPE").check(t, w.With(secret, "").REST(t, "POST", "/v1/intents", `{"title":"mine"}`))
	for _, call := range contractCalls() {
		method := methodOf(t, call)
		fields := namedPlaces(method)
		require.Equal(t, len(fields) == 0, slices.Contains(withoutPlace, call), "%s: is it about a place?", call)
		for _, field := range fields {
			for _, id := range []string{w.places[placeFields[field]], "nothing", "-", strings.Repeat("x", 300), "a\x00b"} {
				attacks++
				err := w.callWith(t, secret, method, field, id)
				want := "OUT_OF_SCOPE"
				if reason := anyChannelReasons[call]; reason != "" && id == "-" {
					want = reason
				} else if strings.Contains(id, "\x00") {
					want = "INVALID_FIELD" // whoever asks
				}
				require.Equal(t, want, harness.Reason(err), "%s %s %q", call, field, id)
			}
			w.outsideOverREST(t, secret, method, field)
		}
	}
	streams := []string{
		"/v1/subscribe/channels/{room}", "/v1/subscribe/channels/nothing", "/v1/subscribe/intents/{intent}",
		"/v1/subscribe/intents/nothing", "/v1/intents/{intent}/subscribe",
	}
	answers := make(chan harness.Answer, len(streams))
	for _, path := range streams { // side by side, because each refusal of a stream takes a second
		go func() { answers <- w.With(secret, "").REST(t, "GET", w.fill(path), "") }()
	}
	for range streams {
		denied("OUT_OF_SCOPE").check(t, <-answers)
	}
	require.Greater(t, attacks, 150)
	require.Equal(t, before, withoutUse(w.ledger(t), before))
}

// namedPlaces returns the fields of a method's requests that name places.
func namedPlaces(method protoreflect.MethodDescriptor) (named []string) {
	fields := method.Input().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if name == "channel" && fields.Get(i).Message() != nil {
			name = "channel.id"
		}
		if placeFields[name] != "" {
			named = append(named, name)
		}
	}
	return named
}

// callWith makes a call over gRPC whose request names one place.
func (w *world) callWith(t *testing.T, secret string, method protoreflect.MethodDescriptor, field, id string) error {
	t.Helper()
	return w.callRequest(t, secret, method, func(request proto.Message) {
		message := request.ProtoReflect()
		if outer, inner, nested := strings.Cut(field, "."); nested {
			message = message.Mutable(message.Descriptor().Fields().ByName(protoreflect.Name(outer))).Message()
			field = inner
		}
		message.Set(message.Descriptor().Fields().ByName(protoreflect.Name(field)), protoreflect.ValueOfString(id))
	})
}

// outsideOverREST makes the same call over REST, if its route has the field in the path.
func (w *world) outsideOverREST(t *testing.T, secret string, method protoreflect.MethodDescriptor, field string) {
	t.Helper()
	verb, pattern, body := routeOf(method)
	if !strings.Contains(pattern, "{"+field+"}") || method.IsStreamingServer() {
		return
	}
	sent := "{}"
	switch {
	case body == "":
		sent = ""
	case body != "*":
		sent = `{"status":"closed"}`
	}
	for _, id := range []string{w.places[placeFields[field]], "nothing"} {
		path := strings.ReplaceAll(pattern, "{"+field+"}", url.PathEscape(id))
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		denied("OUT_OF_SCOPE").check(t, w.With(secret, "").REST(t, verb, path, sent))
	}
}

// A scoped key's agent works in its scope, and what belongs to the agent shows nothing from elsewhere. For each face of what
// the agent gets, the key of the whole server shows more.
func TestAScopedKeySeesOnlyWhatLiesInItsScope(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.make(t, "dm", "id", "alice", "/v1/channels/{other_room}/messages", `{"to":"bob","payload":{"in":"scope"}}`)
		all := w.issue(t, `{"label":"all","agents":["bob"]}`)
		channel := w.issue(t, w.fill(`{"label":"a channel","agents":["bob"],"channels":["{other_room}"]}`))
		intent := w.issue(t, w.fill(`{"label":"an intent","agents":["bob"],"intents":["{other_intent}"]}`))

		look := func(key issued, path string) string {
			answer := w.With(key.Secret, "").REST(t, "GET", w.fill(path), "")
			require.Equal(t, 200, answer.Status, "%s %s", path, answer.Body)
			return string(answer.Body)
		}
		require.Contains(t, look(all, "/v1/agents/bob/inbox"), w.places["notify"])
		inbox := look(channel, "/v1/agents/bob/inbox")
		require.Contains(t, inbox, w.places["dm"])
		require.NotContains(t, inbox, w.places["notify"])
		require.NotContains(t, inbox, w.places["broadcast"])
		require.Contains(t, inbox, `"unread_count":2`, "the count too")
		require.NotContains(t, look(intent, "/v1/agents/bob/inbox"), "msg_")
		marks := func(key issued, what, place string) harness.Answer {
			return w.With(key.Secret, "").REST(t, "POST", "/v1/agents/bob/inbox/"+what, w.fill(`{"message_ids":["{`+place+`}"]}`))
		}
		for _, what := range []string{"read", "surfaced"} {
			notFound("MESSAGE_NOT_FOUND").check(t, marks(channel, what, "notify"))
			require.Equal(t, 200, marks(channel, what, "dm").Status)
		}

		require.Contains(t, look(all, "/v1/intents"), w.places["intent"])
		require.NotContains(t, look(intent, "/v1/intents"), w.places["intent"])
		require.Contains(t, look(intent, "/v1/intents"), w.places["other_intent"])
		require.Contains(t, look(channel, "/v1/intents"), `"total":0`)

		require.Contains(t, look(intent, "/v1/agents"), "bob")
		require.Contains(t, look(intent, "/v1/agents?status=deregistered"), "gone")
		require.NotContains(t, look(channel, "/v1/agents?status=deregistered"), "gone")
		require.Contains(t, look(channel, "/v1/agents"), "bob")
		require.Contains(t, look(channel, "/v1/agents/bob"), "bob")
		notFound("AGENT_NOT_FOUND").check(t, w.With(channel.Secret, "").REST(t, "GET", "/v1/agents/gone", ""))
		require.Contains(t, look(channel, "/v1/agents/bob/reach"), `"waiting"`)
		require.Contains(t, look(intent, "/v1/agents/gone/reach"), `"level"`)
		for _, hidden := range []string{"gone", "alice", "never"} {
			notFound("AGENT_NOT_FOUND").check(t, w.With(channel.Secret, "").REST(t, "GET", "/v1/agents/"+hidden+"/reach", ""))
		}

		event := w.do(t, "alice", "POST", "/v1/intents/{intent}/events", `{"event_type":"comment"}`,
			"traceparent", "00-11111111111111111111111111111111-2222222222222222-01")
		require.Equal(t, 201, event.Status)
		const trace = "/v1/events?trace_id=11111111111111111111111111111111"
		require.Contains(t, look(all, trace), "comment")
		for _, key := range []issued{channel, intent} {
			require.JSONEq(t, "[]", look(key, trace))
			for _, call := range []string{"GET /v1/keys", "POST /v1/keys", "GET /v1/keys/x"} {
				verb, path, _ := strings.Cut(call, " ")
				answer := w.With(key.Secret, "").REST(t, verb, path, `{"label":"x","operator":true}`)
				require.Contains(t, []int{400, 403}, answer.Status, "%s %s", call, answer.Body)
			}
		}
		for _, key := range []issued{channel, intent} {
			for _, path := range []string{"/v1/agents", "/v1/agents/register"} {
				denied("OUT_OF_SCOPE").check(t, w.With(key.Secret, "").REST(t, "POST", path, `{"agent_id":"bob","endpoint":"https://example.com/"}`))
				for _, place := range []string{w.places["intent"], "nothing"} {
					denied("OUT_OF_SCOPE").check(t, w.With(key.Secret, "").REST(t, "POST", path, `{"agent_id":"bob","takes_part_in":"`+place+`"}`))
				}
			}
			answer := w.With(key.Secret, "").REST(t, "POST", "/v1/agents/register", `{"agent_id":"bob"}`)
			require.Less(t, answer.Status, 300, "%s", answer.Body)
		}
		for _, key := range []issued{channel, intent} {
			for _, call := range []string{
				"PUT /v1/agents/bob/refused/alice", "DELETE /v1/agents/bob/refused/alice", "GET /v1/agents/bob/refused",
			} {
				verb, path, _ := strings.Cut(call, " ")
				denied("OUT_OF_SCOPE").check(t, w.With(key.Secret, "").REST(t, verb, path, ""))
			}
		}
		w.scopedQuestion(t, channel)
		w.goesOn(t)
	})
}

// scopedQuestion asks an agent whose record a channel's key may not see. The timeout must not reveal that record either.
func (w *world) scopedQuestion(t *testing.T, key issued) {
	t.Helper()
	answer := w.With(key.Secret, "").REST(t, "POST", w.fill("/v1/channels/{other_room}/ask"), `{"to":"gone","payload":{},"timeout_seconds":0.001}`)
	require.Equal(t, 408, answer.Status)
	require.Contains(t, string(answer.Body), "no agent of that name takes part in the channel now")
}

// The subscriptions of a scoped key deliver only what lies in its scope, and the key has no hand in others of its agent.
func TestTheSubscriptionsOfAScopedKey(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		all := w.issue(t, `{"label":"all","agents":["bob"]}`)
		scoped := w.issue(t, w.fill(`{"label":"a channel","agents":["bob"],"channels":["{other_room}"]}`))
		begin := func(key issued, name, body string) string {
			answer := w.With(key.Secret, "").REST(t, "POST", "/v1/subscriptions", w.fill(body))
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
			var made struct{ ID string }
			answer.Decode(t, &made)
			w.places[name] = made.ID
			return made.ID
		}
		wide, own := begin(all, "wide", `{"name":"wide"}`), begin(scoped, "own", `{"name":"own"}`)
		begin(all, "on_room", `{"name":"on room","channel_id":"{room}"}`)
		shared := begin(all, "shared", `{"name":"shared","channel_id":"{other_room}"}`)
		exists("SUBSCRIPTION_NAME_TAKEN").check(t, w.With(scoped.Secret, "").REST(t, "POST", "/v1/subscriptions", `{"name":"wide"}`))

		require.Contains(t, w.firstOfOwnLog(t, all), "null", "the log begins now")

		w.make(t, "outside", "id", "alice", "/v1/channels/{room}/messages", `{"to":"bob","payload":{"n":1}}`)
		w.make(t, "inside", "id", "alice", "/v1/channels/{other_room}/messages", `{"to":"bob","payload":{"n":2}}`)
		fetched := func(key issued, id string) string {
			answer := w.With(key.Secret, "").REST(t, "GET", "/v1/subscriptions/"+id+"/deliveries", "")
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			return string(answer.Body)
		}
		require.Contains(t, fetched(all, wide), w.places["outside"])
		delivered := fetched(scoped, own)
		require.Contains(t, delivered, w.places["inside"])
		require.NotContains(t, delivered, w.places["outside"])
		require.NotContains(t, fetched(all, own), "msg_", "it is delivered, and the scope is the subscription's")
		require.Contains(t, fetched(scoped, shared), w.places["inside"])

		listed := string(w.With(scoped.Secret, "").REST(t, "GET", "/v1/subscriptions", "").Body)
		for _, place := range []string{"own", "shared"} {
			require.Contains(t, listed, w.places[place])
		}
		for _, place := range []string{"wide", "on_room"} {
			require.NotContains(t, listed, w.places[place])
			for _, call := range contractCalls() {
				method := methodOf(t, call)
				field := method.Input().Fields().ByName("subscription_id")
				if field == nil {
					continue
				}
				err := w.callRequest(t, scoped.Secret, method, func(request proto.Message) {
					request.ProtoReflect().Set(field, protoreflect.ValueOfString(w.places[place]))
				})
				require.Equal(t, "SUBSCRIPTION_NOT_FOUND", harness.Reason(err), call)
			}
		}
		require.Contains(t, w.firstOfOwnLog(t, all), w.places["outside"])
		require.Contains(t, w.firstOfOwnLog(t, scoped), w.places["inside"])
		w.goesOn(t)
	})
}

// firstOfOwnLog returns the first thing that the stream of everything that reaches bob shows, from the beginning of its log.
func (w *world) firstOfOwnLog(t *testing.T, key issued) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	client := w.With(key.Secret, "")
	stream, err := client.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"}, AfterPosition: proto.Int64(0),
	})
	require.NoError(t, err)
	got, err := stream.Recv()
	require.NoError(t, err)
	text, err := json.Marshal(got.GetMessage())
	require.NoError(t, err)
	return fmt.Sprintf("%d %s", got.GetPosition(), text)
}
