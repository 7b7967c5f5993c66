package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/fault"
)

// catalog lists the tools in the order in which a model meets them.
var catalog = []tool{whoami, channels, join, send, ask, reply, inbox, wait, read, mark, claim, presence}

// tool is one tool: what a model reads of it, and what it does.
type tool struct {
	definition *sdk.Tool
	// call carries out a call with the arguments that the model filled in. It returns what becomes the answer's JSON.
	call func(ctx context.Context, s *session, arguments json.RawMessage) (any, error)
}

// newTool makes a tool. properties is the inside of the schema's properties, in JSON; required names those that must be given. The
// arguments are decoded into an A, whose fields are the properties.
func newTool[A any](
	name, description, properties string, required []string, call func(ctx context.Context, s *session, arguments A) (any, error),
) tool {
	schema := `{"type":"object","properties":{` + properties + `},"additionalProperties":false`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	definition := &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema + "}")}
	return tool{definition, func(ctx context.Context, s *session, given json.RawMessage) (any, error) {
		var arguments A
		if err := decode(name, given, &arguments); err != nil {
			return nil, err
		}
		for _, needed := range required {
			if !has(given, needed) {
				return nil, fault.BadField(needed, "is missing; %s needs it.", name)
			}
		}
		return call(ctx, s, arguments)
	}}
}

// decode reads a tool's arguments. It refuses those that the tool does not have.
func decode(name string, given json.RawMessage, into any) error {
	if len(given) == 0 || bytes.Equal(given, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fault.BadField(wrongType.Field, "has the wrong type: it is a %s; tools/list has its schema.", wrongType.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fault.BadField(strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`),
			"is no argument of %s; tools/list has them.", name)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.BadField("arguments", "end too early; send one JSON object.")
	}
	return fault.BadField("arguments", "must be one JSON object.")
}

// has reports whether an argument was given.
func has(given json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(given, &members)
	value, ok := members[name]
	return ok && !bytes.Equal(value, []byte("null"))
}
