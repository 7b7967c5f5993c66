package chat

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// Tools are the protocol's seven tools.
var Tools = []Tool{listEvents, readThread, sendMessage, react, claim, deferEvent, resolve}

// Tool is one tool: what a model reads of it, and what it does.
type Tool struct {
	Name, Description string
	// Schema is the JSON Schema of its arguments.
	Schema json.RawMessage
	// ReadOnly says that it changes nothing. Every tool may be repeated with the same arguments.
	ReadOnly bool
	call     func(ctx context.Context, caller *doors.Caller, given json.RawMessage) (any, error)
}

// Call carries out a call with the arguments that a model filled in. It returns what becomes the answer's JSON.
func (t Tool) Call(ctx context.Context, caller *doors.Caller, given json.RawMessage) (any, error) {
	return t.call(ctx, caller, given)
}

// newTool makes a tool. properties is the inside of the schema's properties, in JSON; required names those that must be given. The
// arguments are decoded into an A, whose fields are the properties.
func newTool[A any](
	name, description, properties string, required []string,
	call func(ctx context.Context, caller *doors.Caller, given A) (any, error),
) Tool {
	schema := `{"type":"object","properties":{` + properties + `},"additionalProperties":false`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return Tool{
		Name: name, Description: description, Schema: json.RawMessage(schema + "}"),
		call: func(ctx context.Context, caller *doors.Caller, given json.RawMessage) (any, error) {
			var arguments A
			if err := doors.ReadArguments(name, given, required, &arguments); err != nil {
				return nil, err
			}
			answer, err := call(ctx, caller, arguments)
			return answer, fields.Explain(err, given)
		},
	}
}

// reading marks a tool that changes nothing.
func (t Tool) reading() Tool {
	t.ReadOnly = true
	return t
}

// ofEvent is the argument of the tools that are about one event.
const ofEvent = `"inReplyTo":{"type":"string","description":"eventId"}`

// anyChannel stands for the channel that a message is in, wherever a model knows the message alone.
const anyChannel = "-"

// messageOf returns the message of an event.
func messageOf(ctx context.Context, caller *doors.Caller, event string) (*openintentv1.Message, error) {
	if event == "" {
		return nil, fault.BadField("inReplyTo", "must be the eventId of an event.")
	}
	return caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: anyChannel, MessageId: MessageOf(event)})
}

// fenceOf returns the fence of the caller's claim on a message, and nil if it holds none.
func fenceOf(ctx context.Context, caller *doors.Caller, message *openintentv1.Message) (*int64, error) {
	judged, err := caller.Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(),
	})
	if status.Code(err) == codes.NotFound {
		return nil, nil // the caller is no recipient
	}
	if err != nil || judged.GetClaim() == nil {
		return nil, err
	}
	return judged.GetClaim().Fence, nil //nolint:protogetter // unset is another thing than 0
}
