package strangers

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// grpcAttempt is one call over gRPC that must be refused.
type grpcAttempt struct {
	what string
	call func(ctx context.Context, c *harness.Caller) error
	code codes.Code
	// reason is empty for refusals that gRPC itself makes before any handler.
	reason, field string
	// agent is the caller; alice when empty.
	agent string
}

// tryGRPC does what try does, for calls over gRPC.
func (w *world) tryGRPC(t *testing.T, attempts []grpcAttempt) {
	t.Helper()
	before := w.ledger(t)
	for _, a := range attempts {
		t.Run(a.what, func(t *testing.T) {
			agent := a.agent
			if agent == "" {
				agent = "alice"
			}
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			defer cancel()
			err := a.call(ctx, w.As(agent))
			require.Equal(t, a.code, harness.Code(err), "%v", err)
			require.Equal(t, a.reason, harness.Reason(err), "%v", err)
			if a.field != "" {
				require.Equal(t, a.field, firstBadField(err), "%v", err)
			}
			if a.reason != "" {
				leaksNothing(t, 0, status.Convert(err).Message())
			}
		})
	}
	require.Equal(t, before, w.ledger(t), "a refused attempt was written")
	w.goesOn(t)
}

func firstBadField(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) > 0 {
			return bad.GetFieldViolations()[0].GetField()
		}
	}
	return ""
}

// sends returns an attempt to send a valid request on the room after change has altered it.
func (w *world) sends(change func(r *openintentv1.SendMessageRequest)) func(context.Context, *harness.Caller) error {
	return func(ctx context.Context, c *harness.Caller) error {
		request := &openintentv1.SendMessageRequest{ChannelId: w.places["room"], Payload: &structpb.Struct{}}
		change(request)
		_, err := c.Messages.SendMessage(ctx, request)
		return err
	}
}

// carries returns an attempt to send a value in a payload.
func (w *world) carries(value *structpb.Value) func(context.Context, *harness.Caller) error {
	return w.sends(func(r *openintentv1.SendMessageRequest) {
		r.Payload = &structpb.Struct{Fields: map[string]*structpb.Value{"p": value}}
	})
}

func nested(depth int) *structpb.Value {
	value := structpb.NewNullValue()
	for range depth {
		value = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{value}})
	}
	return value
}

func TestBadRequestsOverGRPC(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		invalid := func(what, field string, call func(context.Context, *harness.Caller) error) grpcAttempt {
			return grpcAttempt{what: what, call: call, code: codes.InvalidArgument, reason: "INVALID_FIELD", field: field}
		}
		w.tryGRPC(t, []grpcAttempt{
			invalid("no payload", "payload", w.sends(func(r *openintentv1.SendMessageRequest) { r.Payload = nil })),
			invalid("a type that there is not", "message_type", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.MessageType = openintentv1.MessageType(99).Enum()
			})),
			invalid("the unspecified type", "message_type", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.MessageType = openintentv1.MessageType_MESSAGE_TYPE_UNSPECIFIED.Enum()
			})),
			invalid("oneself", "to", w.sends(func(r *openintentv1.SendMessageRequest) { r.To = proto.String("alice") })),
			invalid("an address with a control character", "to", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.To = proto.String("bob\n")
			})),
			invalid("an address with U+0000", "to", w.sends(func(r *openintentv1.SendMessageRequest) { r.To = proto.String("bo\x00b") })),
			invalid("a time in the past", "expires_at", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.ExpiresAt = timestamppb.New(time.Unix(1, 0))
			})),
			invalid("a time that is none", "expires_at", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.ExpiresAt = &timestamppb.Timestamp{Seconds: math.MaxInt64, Nanos: -5}
			})),
			invalid("an empty idempotency key", "idempotency_key", w.sends(func(r *openintentv1.SendMessageRequest) {
				r.IdempotencyKey = proto.String("")
			})),
			invalid("two idempotency keys that differ", "Idempotency-Key", func(ctx context.Context, c *harness.Caller) error {
				ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", "b")
				return w.sends(func(r *openintentv1.SendMessageRequest) { r.IdempotencyKey = proto.String("a") })(ctx, c)
			}),
			invalid("not a number", "payload.p", w.carries(structpb.NewNumberValue(math.NaN()))),
			invalid("infinity", "payload.p", w.carries(structpb.NewNumberValue(math.Inf(-1)))),
			invalid("a value of no kind", "payload.p", w.carries(&structpb.Value{})),
			invalid("U+0000", "payload.p", w.carries(structpb.NewStringValue("a\x00b"))),
			{
				what: "deep nesting", call: w.carries(nested(65)), code: codes.InvalidArgument, reason: "INVALID_FIELD",
			},
			{
				what: "more than a payload may have", call: w.carries(structpb.NewStringValue(strings.Repeat("x", 256<<10))),
				code: codes.ResourceExhausted, reason: "PAYLOAD_TOO_LARGE",
			},
			{
				what: "more than a call may have", call: w.carries(structpb.NewStringValue(strings.Repeat("x", 8<<20))),
				code: codes.ResourceExhausted,
			},
			{what: "another's name", code: codes.PermissionDenied, reason: "SENDER_MISMATCH", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.Sender = proto.String("bob") })},
			{what: "no such channel", code: codes.NotFound, reason: "CHANNEL_NOT_FOUND", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.ChannelId = "nope" })},
			{what: "no channel at all", code: codes.NotFound, reason: "CHANNEL_NOT_FOUND", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.ChannelId = "" })},
			{what: "a channel id with U+0000", code: codes.InvalidArgument, reason: "INVALID_FIELD", field: "channel_id", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.ChannelId = "\x00" })},
			{what: "a closed channel", code: codes.FailedPrecondition, reason: "CHANNEL_CLOSED", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.ChannelId = w.places["closed_room"] })},
			{what: "a hidden channel", agent: "bob", code: codes.PermissionDenied, reason: "FORBIDDEN", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.ChannelId = w.places["hidden_room"] })},
			{what: "a used key", code: codes.AlreadyExists, reason: "IDEMPOTENCY_KEY_REUSED", call: w.sends(
				func(r *openintentv1.SendMessageRequest) { r.IdempotencyKey = proto.String("used") })},
			invalid("a cursor of another channel", "since", func(ctx context.Context, c *harness.Caller) error {
				_, err := c.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
					ChannelId: w.places["room"], Since: proto.String(w.places["other_message"]),
				})
				return err
			}),
			invalid("a time of not a number", "timeout_seconds", func(ctx context.Context, c *harness.Caller) error {
				_, err := c.Messages.Ask(ctx, &openintentv1.AskRequest{
					ChannelId: w.places["room"], To: "bob", Payload: &structpb.Struct{}, TimeoutSeconds: proto.Float64(math.NaN()),
				})
				return err
			}),
			invalid("a mask of what nobody may change", "name", func(ctx context.Context, c *harness.Caller) error {
				_, err := c.Channels.UpdateChannel(ctx, &openintentv1.UpdateChannelRequest{
					Channel:    &openintentv1.Channel{Id: w.places["room"], Name: "x"},
					UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}},
				})
				return err
			}),
			{what: "a stream of no channel", code: codes.NotFound, reason: "CHANNEL_NOT_FOUND", call: subscribes("nope", nil)},
			invalid("a stream of nothing", "scope", func(ctx context.Context, c *harness.Caller) error {
				stream, err := c.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{})
				if err == nil {
					_, err = stream.Recv()
				}
				return err
			}),
			{what: "a stream from the future", code: codes.FailedPrecondition, reason: "CURSOR_BEYOND_LOG",
				call: subscribes(w.places["room"], proto.Int64(math.MaxInt64))},
			invalid("a stream from before the beginning", "after_position", subscribes(w.places["room"], proto.Int64(-1))),
			{what: "a stream of a room of others", agent: "carol", code: codes.PermissionDenied, reason: "NOT_A_MEMBER", call: subscribes(w.places["members_room"], nil)},
			{what: "a stream of no intent", code: codes.NotFound, reason: "INTENT_NOT_FOUND", call: follows(
				&openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: "nope"}})},
			{what: "a stream of a hidden intent", agent: "bob", code: codes.PermissionDenied, reason: "FORBIDDEN", call: follows(
				&openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: w.places["hidden_intent"]}})},
			{what: "a stream of another agent", code: codes.PermissionDenied, reason: "NOT_AGENT_OWNER", call: follows(
				&openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"}})},
			{what: "a stream of an intent from the future", code: codes.FailedPrecondition, reason: "CURSOR_BEYOND_LOG", call: follows(
				&openintentv1.SubscribeRequest{
					Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: w.places["intent"]}, AfterPosition: proto.Int64(math.MaxInt64),
				})},
			invalid("a stream of messages of no type", "message_type", follows(&openintentv1.SubscribeRequest{
				Scope:       &openintentv1.SubscribeRequest_IntentId{IntentId: w.places["intent"]},
				MessageType: openintentv1.MessageType(77).Enum(),
			})),
			invalid("a stream of too many types", "event_types", follows(&openintentv1.SubscribeRequest{
				Scope:      &openintentv1.SubscribeRequest_IntentId{IntentId: w.places["intent"]},
				EventTypes: slices.Repeat([]string{"comment"}, 101),
			})),
			{what: "a stream of no subscription", code: codes.NotFound, reason: "SUBSCRIPTION_NOT_FOUND", call: receives("nope", 0)},
			{what: "a stream of another's subscription", agent: "bob", code: codes.NotFound, reason: "SUBSCRIPTION_NOT_FOUND",
				call: receives(w.places["subscription"], 0)},
			{what: "an acknowledgement of the future", code: codes.FailedPrecondition, reason: "CURSOR_BEYOND_LOG",
				call: receives(w.places["subscription"], math.MaxInt64)},
			invalid("an acknowledgement before the beginning", "acknowledged_through", receives(w.places["subscription"], -1)),
		})
	})
}

func subscribes(channelID string, after *int64) func(context.Context, *harness.Caller) error {
	return follows(&openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channelID}, AfterPosition: after,
	})
}

func follows(request *openintentv1.SubscribeRequest) func(context.Context, *harness.Caller) error {
	return func(ctx context.Context, c *harness.Caller) error {
		stream, err := c.Messages.Subscribe(ctx, request)
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
}

func receives(subscriptionID string, acknowledged int64) func(context.Context, *harness.Caller) error {
	return func(ctx context.Context, c *harness.Caller) error {
		stream, err := c.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
			SubscriptionId: subscriptionID, AcknowledgedThrough: &acknowledged,
		})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
}

// These are bytes that no generated client sends, and methods that do not exist.
func TestBytesThatAreNoRequests(t *testing.T) {
	databasetest.OneEngineOf(t)
	send, unknown := openintentv1.MessageService_SendMessage_FullMethodName, "/openintent.v1.MessageService/Sing"
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		raw := func(method string, body string, pairs ...string) func(context.Context, *harness.Caller) error {
			return func(ctx context.Context, _ *harness.Caller) error {
				ctx = metadata.AppendToOutgoingContext(ctx, append(pairs, "x-api-key", harness.Key)...)
				return h.Connection.Invoke(ctx, method, &body, new(string), grpc.ForceCodec(bytesCodec{}))
			}
		}
		w.tryGRPC(t, []grpcAttempt{
			{what: "garbage", call: raw(send, "\xff\xff\xff\xff"), code: codes.Internal},
			{what: "a field that never ends", call: raw(send, "\x0a\xff\xff\xff\xff\x0f"), code: codes.Internal},
			{what: "invalid UTF-8", call: raw(send, "\x0a\x02\xc3\x28"), code: codes.Internal},
			{what: "no such method", call: raw(unknown, ""), code: codes.Unimplemented},
			{what: "no such service", call: raw("/openintent.v1.Choir/Sing", ""), code: codes.Unimplemented},
			{what: "no path", call: raw("/", ""), code: codes.Unimplemented},
			{what: "an enormous name", call: raw(send, "", "x-agent-id", strings.Repeat("a", 300)), code: codes.InvalidArgument, reason: "INVALID_FIELD"},
			{what: "two names", call: raw(send, "", "x-agent-id", "a", "x-agent-id", "b"), code: codes.InvalidArgument, reason: "INVALID_FIELD"},
		})
		_, err := h.With("nope", "alice").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
		require.Equal(t, "API_KEY_UNKNOWN", harness.Reason(err))
		_, err = h.With("", "alice").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
		require.Equal(t, "API_KEY_MISSING", harness.Reason(err))
	})
}

// bytesCodec sends a string's bytes unchanged.
type bytesCodec struct{}

func (bytesCodec) Marshal(value any) ([]byte, error) { return []byte(*value.(*string)), nil }
func (bytesCodec) Unmarshal(text []byte, value any) error {
	*value.(*string) = string(text)
	return nil
}
func (bytesCodec) Name() string { return "proto" }
