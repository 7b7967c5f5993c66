package strangers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// PostgreSQL has no text with U+0000, and SQLite takes it. So nobody may send it, in no field of any call: the server names the field.
func TestNoTextHasTheZeroCharacter(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		before := w.ledger(t)
		seen := make(map[string]bool)
		for method := range methods() {
			if method.Parent().Name() == "ExchangeService" {
				continue // it refuses each of its requests by itself, as the request's own call does (e2e/exchange)
			}
			for _, planted := range plant(w.usual(t, method)) {
				seen[string(method.Name())] = true
				err := w.invoke(t, method, planted.request)
				what := fmt.Sprintf("%s with U+0000 in %s: %v", method.FullName(), planted.path, err)
				assert.Equal(t, codes.InvalidArgument, harness.Code(err), what)
				assert.Equal(t, planted.path, firstBadField(err), what)
			}
		}
		require.Subset(t, slices.Collect(maps.Keys(seen)), slices.Collect(maps.Keys(usual)), "these methods have texts")
		require.Equal(t, before, w.ledger(t), "a refused request was written")
		w.goesOn(t)
	})
}

// usual are requests with free-form fields, into which the services look. They are valid but for what a test plants.
var usual = map[string]string{
	"CreateIntent":      `title: "x"`,
	"PatchIntentState":  `intent_id: "{intent}" expected_version: 1`,
	"AppendEvent":       `intent_id: "{intent}" event_type: "comment"`,
	"CreateCoordinator": `intent_id: "{other_intent}" agent_id: "alice"`,
	"CreateTask":        `intent_id: "{intent}" name: "x"`,
	"UpdateTask":        `task_id: "{task}" expected_version: 1`,
	"CompleteTask":      `task_id: "{task}"`,
	"RegisterAgent":     `agent_id: "alice"`,
	"UpsertAgent":       `agent_id: "alice"`,
	"SendMessage":       `channel_id: "{room}" payload: {}`,
	"SendMessages":      `channel_id: "{room}" payload: {}`,
	"SendMessageByName": `intent_id: "{intent}" name: "room" payload: {}`,
	"ReplyMessage":      `channel_id: "{room}" message_id: "{notify}" payload: {}`,
	"UpdateMessage":     `channel_id: "{room}" message_id: "{notify}"`,
	"Ask":               `channel_id: "{room}" to: "bob" payload: {}`,
	"AskAll":            `channel_id: "{room}" to: "role:x" payload: {}`,
}

// methods are all methods of the contract.
func methods() func(yield func(protoreflect.MethodDescriptor) bool) {
	return func(yield func(protoreflect.MethodDescriptor) bool) {
		protoregistry.GlobalFiles.RangeFilesByPackage("openintent.v1", func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				for j := range file.Services().Get(i).Methods().Len() {
					if !yield(file.Services().Get(i).Methods().Get(j)) {
						return false
					}
				}
			}
			return true
		})
	}
}

// usual returns a request of a method.
func (w *world) usual(t *testing.T, method protoreflect.MethodDescriptor) proto.Message {
	t.Helper()
	found, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	require.NoError(t, err)
	request := found.New().Interface()
	require.NoError(t, prototext.Unmarshal([]byte(w.fill(usual[string(method.Name())])), request), method.Name())
	return request
}

// invoke makes a call and returns how it ended. Of a stream it waits for the first message.
func (w *world) invoke(t *testing.T, method protoreflect.MethodDescriptor, request proto.Message) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", harness.Key, "x-agent-id", "alice")
	name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	output, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	require.NoError(t, err)
	answer := output.New().Interface()
	if !method.IsStreamingServer() && !method.IsStreamingClient() {
		return w.Connection.Invoke(ctx, name, request, answer)
	}
	stream, err := w.Connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}, name)
	if err != nil {
		return err
	}
	_ = stream.SendMsg(request)
	_ = stream.CloseSend()
	err = stream.RecvMsg(answer)
	if many, ok := answer.(*openintentv1.SendMessagesResponse); ok && err == nil {
		return status.ErrorProto(many.GetRefusal()) // of one message of many
	}
	return err
}

// planted is a request with U+0000 in one text.
type planted struct {
	path    string
	request proto.Message
}

// plant returns copies of a request, each with U+0000 in another text.
func plant(base proto.Message) []planted {
	var all []planted
	texts(base.ProtoReflect().Descriptor(), "", 3, func(path string, set func(protoreflect.Message)) {
		copied := proto.Clone(base)
		set(copied.ProtoReflect())
		all = append(all, planted{path, copied})
	})
	return all
}

// texts finds the texts that a message can have, so deep, and gives each with its path and what puts U+0000 there.
func texts(message protoreflect.MessageDescriptor, below string, depth int, found func(path string, set func(protoreflect.Message))) {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		path := below + string(field.Name())
		switch {
		case field.Kind() == protoreflect.StringKind && field.IsList():
			found(path+"[0]", func(m protoreflect.Message) { m.Mutable(field).List().Append(protoreflect.ValueOfString("a\x00b")) })
		case field.Kind() == protoreflect.StringKind:
			found(path, func(m protoreflect.Message) { m.Set(field, protoreflect.ValueOfString("a\x00b")) })
		case field.Message() == nil || depth == 0:
		case field.Message().FullName() == "google.protobuf.Struct" && !field.IsList():
			found(path+".a", func(m protoreflect.Message) { m.Set(field, object("a", "\x00")) })
			found(path, func(m protoreflect.Message) { m.Set(field, object("\x00", "a")) })
		case field.Message().ParentFile().Path() == "google/protobuf/struct.proto": // each has a form of its own, which its service knows
		case field.IsList():
			texts(field.Message(), path+"[0].", depth-1, func(path string, set func(protoreflect.Message)) {
				found(path, func(m protoreflect.Message) { set(m.Mutable(field).List().AppendMutable().Message()) })
			})
		default:
			texts(field.Message(), path+".", depth-1, func(path string, set func(protoreflect.Message)) {
				found(path, func(m protoreflect.Message) { set(m.Mutable(field).Message()) })
			})
		}
	}
}

// object is an object with one member.
func object(name, value string) protoreflect.Value {
	made := &structpb.Struct{Fields: map[string]*structpb.Value{name: structpb.NewStringValue(value)}}
	return protoreflect.ValueOfMessage(made.ProtoReflect())
}

// Over REST a text can come in the path, in the query and in the body.
func TestNoPartOfARequestOverRESTHasTheZeroCharacter(t *testing.T) {
	var attempts []attempt
	for _, row := range []struct{ call, body, field string }{
		{"GET /v1/intents/a%00b", "", "intent_id"},
		{"GET /v1/channels/%00", "", "channel_id"},
		{"GET /v1/channels/-?address=%00", "", "address"},
		{"GET /v1/channels/{room}/messages/%00", "", "message_id"},
		{"GET /v1/channels/{room}/messages?since=%00", "", "since"},
		{"GET /v1/channels/{room}/messages?to=a%00", "", "to"},
		{"GET /v1/subscribe/channels/%00", "", "channel_id"},
		{"GET /v1/subscribe/channels/{room}?correlation_id=a%00", "", "correlation_id"},
		{"GET /v1/agents?role_id=%00", "", "role_id"},
		{"GET /v1/messages/search?q=a%00", "", "q"},
		{"PUT /v1/agents/alice/refused/%00", "", "sender"},
		{"DELETE /v1/channels/{room}/messages/{notify}?agent_id=%00", "", "agent_id"},
		{"POST /v1/channels/{room}/messages", `{"payload":{},"task_id":"\u0000"}`, "task_id"},
		{"POST /v1/channels/{room}/messages", `{"payload":{},"mentions":["a\u0000"]}`, "mentions[0]"},
		{"PUT /v1/channels/{room}/messages/{notify}/reactions/seen", `{"agent_id":"\u0000"}`, "agent_id"},
	} {
		attempts = append(attempts, attempt{what: row.call + " " + row.body, call: row.call, body: row.body, refused: badField(row.field)})
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) { newWorld(t, h).try(t, attempts) })
}
