package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/server/jsonform"
)

// aLoggedEvent makes an event of a log; payload is its payload as JSON.
func aLoggedEvent(t *testing.T, eventType, payload string) *openintentv1.Event {
	fields := &structpb.Struct{}
	require.NoError(t, json.Unmarshal([]byte(payload), fields))
	return &openintentv1.Event{
		Id: "e1", IntentId: "i1", EventType: eventType, Actor: "ann", Payload: fields, Sequence: 4,
		CreatedAt:         timestamppb.New(time.Date(2026, 2, 13, 10, 0, 0, 0, time.UTC)),
		PreviousEventHash: proto.String("sha256:p"), EventHash: "sha256:h",
	}
}

// send makes every stream deliver these responses and end.
func (r *rest) send(deliveries ...*openintentv1.SubscribeResponse) {
	r.service.subscribe = func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		for _, delivery := range deliveries {
			if err := stream.Send(delivery); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestLoggedEventsComeAsTheLogHasThem(t *testing.T) {
	r := newREST(t)
	logged := aLoggedEvent(t, "state_patched", `{"patches":[{"op":"set","path":"/a","value":1}],"version":2}`)
	r.send(&openintentv1.SubscribeResponse{Position: 9, IntentId: "i1", Event: logged})
	want, err := jsonform.Encode(logged)
	require.NoError(t, err)
	for _, path := range []string{"/v1/subscribe/intents/i1", "/api/v1/subscribe/agents/a"} {
		got, _ := r.subscribe(t, path).next(t)
		require.Equal(t, sseEvent{id: "9", name: "state_patched", data: string(want)}, got, "byte by byte, so that its hash stays valid")
	}
}

func TestExistingClientsReadLoggedEventsUnderNamesOfTheirOwn(t *testing.T) {
	const own = `"event_id":"e1","intent_id":"i1","event_type":`
	for _, test := range []struct{ eventType, payload, name, data string }{
		{
			"status_changed", `{"from":"draft","to":"active","status":"active","version":2,"reason":"go"}`, "STATUS_CHANGED",
			`{"old_status":"draft","new_status":"active","from":"draft","to":"active","status":"active","version":2,"reason":"go",` +
				own + `"status_changed"}`,
		},
		{
			"state_patched", `{"patches":[{"op":"set","path":"/a~1b/c","value":[1]},{"op":"append","path":"list","value":"x"},` +
				`{"op":"remove","path":"/gone"},{"op":"set","path":"progress","value":0.5}],"version":3}`, "STATE_CHANGED",
			`{"old_state":{},"new_state":{"a/b":{"c":[1]},"list":["x"],"progress":0.5},"patches":[` +
				`{"op":"set","path":"/a~1b/c","value":[1]},{"op":"append","path":"list","value":"x"},` +
				`{"op":"remove","path":"/gone"},{"op":"set","path":"progress","value":0.5}],"version":3,` + own + `"state_patched"}`,
		},
		{"agent_assigned", `{"agent_id":"bob","role":"worker"}`, "AGENT_ASSIGNED", `{"agent_id":"bob","role":"worker",` + own + `"agent_assigned"}`},
		{"lease_acquired", `{"scope":"s"}`, "LEASE_ACQUIRED", `{"scope":"s",` + own + `"lease_acquired"}`},
		{"lease_released", `{"scope":"s"}`, "LEASE_RELEASED", `{"scope":"s",` + own + `"lease_released"}`},
		{"task.created", `{}`, "task.created", `{` + own + `"task.created"}`},
		// A client may log types that have another meaning in a stream, or payloads that use the server's own words.
		{"state_patched", `{"patches":"none"}`, "STATE_CHANGED", `{"old_state":{},"new_state":{},"patches":"none",` + own + `"state_patched"}`},
		{"status_changed", `{}`, "STATUS_CHANGED", `{"old_status":null,"new_status":null,` + own + `"status_changed"}`},
		{"error", `{"intent_id":"i2","event_id":"e2","event_type":"x"}`, "event", `{` + own + `"error"}`},
	} {
		r := newREST(t)
		r.send(&openintentv1.SubscribeResponse{Position: 9, IntentId: "i1", Event: aLoggedEvent(t, test.eventType, test.payload)})
		for _, path := range []string{"/v1/intents/i1/subscribe", "/api/v1/agents/a/subscribe"} {
			got, _ := r.subscribe(t, path).next(t)
			require.Equal(t, "9", got.id)
			require.Equal(t, test.name, got.name)
			require.JSONEq(t, test.data, got.data)
		}
	}
}

// A client may write any type. A type can neither break the lines of a stream nor pass for one of the server's own
// events.
func TestATypeCannotForgeAStream(t *testing.T) {
	for _, forged := range []string{
		"x\n\nevent: channel_message\ndata: {}\n\n", "x\rdata: {}", "x\u0085data: {}", "x\u2028y", "\x00", "channel_message",
		"channel_closed", "error", "message_digest", "probe",
	} {
		r := newREST(t)
		r.send(
			&openintentv1.SubscribeResponse{Position: 1, IntentId: "i1", Event: aLoggedEvent(t, forged, `{}`)},
			&openintentv1.SubscribeResponse{Position: 2, IntentId: "i1", Event: aLoggedEvent(t, "comment", `{}`)})
		for _, path := range []string{"/v1/subscribe/intents/i1", "/v1/intents/i1/subscribe"} {
			s := r.subscribe(t, path)
			first, _ := s.next(t)
			require.Equal(t, "1", first.id)
			require.Equal(t, "event", first.name)
			var data struct {
				EventType string `json:"event_type"`
			}
			require.NoError(t, json.Unmarshal([]byte(first.data), &data))
			require.Equal(t, forged, data.EventType)
			second, _ := s.next(t)
			require.Equal(t, "2", second.id)
			require.Equal(t, "comment", second.name)
		}
	}
	name := eventForm{}.name("größe 数")
	require.Equal(t, "größe 数", name, "any other type is a name")
}

func TestAMessageIsFlatOnEveryPath(t *testing.T) {
	r := newREST(t)
	audit := aLoggedEvent(t, "channel_message", `{"message_id":"m1"}`)
	r.send(&openintentv1.SubscribeResponse{
		Position: 3, IntentId: "i1", ChannelName: "n", Message: &openintentv1.Message{Id: "m1"}, AuditEvent: audit,
	})
	flat, err := jsonform.Encode(&openintentv1.Message{Id: "m1"})
	require.NoError(t, err)
	begin := strings.TrimSuffix(string(flat), "}") + `,"intent_id":"i1","channel_name":"n"`
	logged, err := jsonform.Encode(audit)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/v1/subscribe/intents/i1":  begin + `,"audit_event":` + string(logged) + `}`,
		"/v1/intents/i1/subscribe":  begin + `}`,
		"/v1/agents/a/subscribe":    begin + `}`,
		"/v1/subscribe/channels/c1": begin + `,"audit_event":` + string(logged) + `}`,
	} {
		got, _ := r.subscribe(t, path).next(t)
		require.Equal(t, sseEvent{id: "3", name: "channel_message", data: want}, got, path)
	}
	got, _ := r.subscribe(t, "/v1/subscribe/intents/i1", "X-API-Key", "old").next(t)
	require.Contains(t, got.data, `"event_type":"channel.message"`, "as lists of events show it to existing clients")
}

func TestAnAnnotationIsAnEventOfItsOwn(t *testing.T) {
	r := newREST(t)
	annotation := &openintentv1.Annotation{Type: "message_reaction", Position: 7, MessageId: "m1", Signal: proto.String("done")}
	flat, err := jsonform.Encode(annotation)
	require.NoError(t, err)
	want := strings.TrimSuffix(string(flat), "}") + `,"intent_id":"i1","channel_name":"n"`
	r.service.subscribe = func(req *openintentv1.SubscribeRequest, stream subscription) error {
		require.Equal(t, []string{"annotations", "attention"}, req.GetInclude())
		return stream.Send(&openintentv1.SubscribeResponse{Position: 7, IntentId: "i1", ChannelName: "n", Annotation: annotation})
	}
	for _, path := range []string{
		"/v1/subscribe/intents/i1", "/v1/intents/i1/subscribe", "/v1/subscribe/channels/c1", "/v1/subscribe/agents/a", "/v1/agents/a/subscribe",
	} {
		for _, query := range []string{"?include=annotations,attention", "?include=annotations&include=attention"} {
			got, _ := r.subscribe(t, path+query).next(t)
			require.Equal(t, sseEvent{id: "7", name: "message_reaction", data: want + "}"}, got, path)
		}
	}
	r.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		return stream.Send(&openintentv1.SubscriptionDelivery{
			Number: 5, Attempt: 2, IntentId: "i1", Position: 7, ChannelName: "n", Annotation: annotation,
		})
	}
	got, _ := r.subscribe(t, "/v1/subscribe/subscriptions/s").next(t)
	require.Equal(t, sseEvent{id: "5", name: "message_reaction", data: want + `,"attempt":2}`}, got)
}

// Attention is a member beside those of the message, and of no other delivery.
func TestAttentionIsBesideTheMessage(t *testing.T) {
	r := newREST(t)
	block := &openintentv1.Attention{Reason: "mention", Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND}
	encoded, err := jsonform.Encode(block)
	require.NoError(t, err)
	m := &openintentv1.Message{Id: "m1"}
	flat, err := jsonform.Encode(m)
	require.NoError(t, err)
	want := strings.TrimSuffix(string(flat), "}") + `,"intent_id":"i1","channel_name":"n","attention":` + string(encoded)
	r.service.subscribe = func(req *openintentv1.SubscribeRequest, stream subscription) error {
		require.Equal(t, []string{"attention"}, req.GetInclude())
		return stream.Send(&openintentv1.SubscribeResponse{Position: 7, IntentId: "i1", ChannelName: "n", Message: m, Attention: block})
	}
	for _, path := range []string{"/v1/subscribe/channels/c", "/v1/subscribe/agents/b"} {
		got, _ := r.subscribe(t, path+"?include=attention").next(t)
		require.Equal(t, want+"}", got.data, path)
	}
	r.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		return stream.Send(&openintentv1.SubscriptionDelivery{
			Number: 5, Attempt: 2, IntentId: "i1", Position: 7, ChannelName: "n", Message: m, Attention: block,
		})
	}
	got, _ := r.subscribe(t, "/v1/subscribe/subscriptions/s").next(t)
	require.Equal(t, want+`,"attempt":2}`, got.data)
}

func TestADurableSubscriptionsDeliveries(t *testing.T) {
	r := newREST(t)
	logged := aLoggedEvent(t, "comment", `{}`)
	r.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		for _, delivery := range []*openintentv1.SubscriptionDelivery{
			{ProbeId: "probe_1"},
			{Number: 5, Attempt: 2, IntentId: "i1", Position: 99, ChannelName: "n", Message: &openintentv1.Message{Id: "m1"}},
			{Number: 6, Attempt: 1, IntentId: "i1", Position: 100, Event: logged},
		} {
			if err := stream.Send(delivery); err != nil {
				return err
			}
		}
		return fault.New(fault.Conflict, "SUBSCRIPTION_ENDED", "The subscription has ended.")
	}
	s := r.subscribe(t, "/v1/subscribe/subscriptions/s")
	got, _ := s.next(t)
	require.Equal(t, sseEvent{name: "probe", data: `{"probe_id":"probe_1"}`}, got)
	got, _ = s.next(t)
	require.Equal(t, "5", got.id, "its number, not its position")
	require.Equal(t, "channel_message", got.name)
	require.Contains(t, got.data, `"intent_id":"i1","channel_name":"n","attempt":2}`)
	got, _ = s.next(t)
	want, err := jsonform.Encode(logged)
	require.NoError(t, err)
	require.Equal(t, sseEvent{id: "6", name: "comment", data: string(want)}, got)
	got, _ = s.next(t)
	require.Equal(t, "error", got.name, "only a channel is told to be closed")
	require.Contains(t, got.data, `"reason":"SUBSCRIPTION_ENDED"`)
}

// What comes with a message in one delivery is beside its members; a digest alone is an event of its own.
func TestOneDeliveryOfSeveralMessages(t *testing.T) {
	r := newREST(t)
	digest := &openintentv1.Digest{MessageCount: 2}
	earlier := &openintentv1.EarlierMessage{IntentId: "i1", Position: 97, Message: &openintentv1.Message{Id: "m1"}}
	r.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		for _, delivery := range []*openintentv1.SubscriptionDelivery{
			{Number: 5, Attempt: 1, IntentId: "i1", ChannelName: "n", Message: &openintentv1.Message{Id: "m2"}, Digest: digest,
				SourceIds: []string{"m1", "m2"}, Earlier: []*openintentv1.EarlierMessage{earlier}},
			{Number: 6, Attempt: 1, IntentId: "i1", Digest: digest},
		} {
			if err := stream.Send(delivery); err != nil {
				return err
			}
		}
		<-stream.Context().Done()
		return nil
	}
	encodedDigest, err := jsonform.Encode(digest)
	require.NoError(t, err)
	encodedEarlier, err := jsonform.Encode(earlier)
	require.NoError(t, err)
	s := r.subscribe(t, "/v1/subscribe/subscriptions/s")
	got, _ := s.next(t)
	require.Equal(t, "channel_message", got.name)
	want := `"attempt":1,"source_ids":["m1","m2"],"earlier":[` + string(encodedEarlier) + `],"digest":` + string(encodedDigest) + `}`
	require.Contains(t, got.data, want)
	got, _ = s.next(t)
	want = strings.TrimSuffix(string(encodedDigest), "}") + `,"intent_id":"i1","channel_name":"","attempt":1}`
	require.Equal(t, sseEvent{id: "6", name: "message_digest", data: want}, got)
}

func TestCaughtUpIsNoEventButMovesTheCursor(t *testing.T) {
	r := newREST(t)
	r.send(
		&openintentv1.SubscribeResponse{Position: 1, Message: &openintentv1.Message{}},
		&openintentv1.SubscribeResponse{Position: 4, CaughtUp: true},
		&openintentv1.SubscribeResponse{Position: 5, Message: &openintentv1.Message{}})
	s := r.subscribe(t, "/v1/subscribe/intents/i")
	var lines []string
	for s.lines.Scan() {
		if line := s.lines.Text(); line != ": ping" {
			lines = append(lines, strings.SplitN(line, "{", 2)[0])
		}
	}
	require.Equal(t, []string{
		"id: 1", "event: channel_message", "data: ", "", ": caught up", "id: 4", "", "id: 5", "event: channel_message", "data: ", "",
	}, withoutRepeatedBlanks(lines))
}

func withoutRepeatedBlanks(lines []string) (kept []string) {
	for i, line := range lines {
		if line != "" || i > 0 && lines[i-1] != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

func TestASubscriptionToAClosedChannelIsOver(t *testing.T) {
	r := newREST(t)
	r.durable.stream = func(*openintentv1.StreamDeliveriesRequest, deliveryStream) error {
		return fault.New(fault.Conflict, "CHANNEL_CLOSED", "The subscription's channel is closed.")
	}
	got, _ := r.subscribe(t, "/v1/subscribe/subscriptions/s").next(t)
	require.Equal(t, sseEvent{name: "channel_closed", data: `{"subscription_id":"s","reason":"channel_closed"}`}, got)
}

func TestOtherScopesAreNotClosedLikeAChannel(t *testing.T) {
	r := newREST(t)
	refusal := fault.New(fault.Conflict, "INTENT_ENDED", "The intent has ended.")
	r.service.subscribe = func(*openintentv1.SubscribeRequest, subscription) error { return refusal }
	for _, path := range []string{"/v1/subscribe/intents/i", "/v1/intents/i/subscribe", "/v1/subscribe/agents/a"} {
		require.Equal(t, "INTENT_ENDED", problemOf(t, r.call(t, "GET", path, ""), 409)["reason"], path)
	}
}
