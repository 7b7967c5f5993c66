package repomesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"openintent/fault"
	"openintent/jsonvalue"
)

// action is something that an agent can do: a tool over MCP, and a route over REST.
type action struct {
	name        string
	description string
	properties  []property
	required    []string
	run         func(ctx context.Context, s *session, given json.RawMessage) (any, error)
}

// property is an argument of an action. kind is a type of JSON Schema.
type property struct{ name, kind string }

// text, whole, yes, object and list are arguments of those types.
func text(name string) property   { return property{name, "string"} }
func whole(name string) property  { return property{name, "integer"} }
func yes(name string) property    { return property{name, "boolean"} }
func object(name string) property { return property{name, "object"} }
func list(name string) property   { return property{name, "array"} }

// retryCount is the argument by which a client says how often it has tried before.
var retryCount = whole("retry_count")

// newAction makes an action. Its arguments are decoded into an A, whose members are the properties.
func newAction[A any](
	name, description string, required []string, properties []property, run func(ctx context.Context, s *session, given A) (any, error),
) action {
	return action{name, description, properties, required, func(ctx context.Context, s *session, given json.RawMessage) (any, error) {
		var arguments A
		if err := decode(name, given, required, &arguments); err != nil {
			return nil, err
		}
		return run(ctx, s, arguments)
	}}
}

// decode reads an action's arguments. It refuses what is no JSON object, and members that the action does not have.
func decode(name string, given json.RawMessage, required []string, into any) error {
	if len(bytes.TrimSpace(given)) == 0 || bytes.Equal(given, []byte("null")) {
		given = json.RawMessage("{}")
	}
	object, err := jsonvalue.ParseObject(given, "arguments")
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fault.BadField(wrongType.Field, "has the wrong type: it is a %s.", wrongType.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fault.BadField(strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`),
			"is no argument of %s; leave it out.", name)
	default:
		return fault.BadField("arguments", "must be one JSON object.")
	}
	for _, needed := range required {
		if member, ok := object.Member(needed); !ok || bytes.Equal(member, []byte("null")) {
			return fault.BadField(needed, "is missing; %s needs it.", name)
		}
	}
	return nil
}

// repeats is what the arguments of every action may say: how often the caller has tried before (see retriesIn).
type repeats struct {
	Retries int `json:"retry_count"`
}

// identity is how an action's arguments name the caller again, as the reference's clients do.
type identity struct {
	repeats
	AgentID *string `json:"agent_id"`
}

// errAnother refuses arguments that name somebody else as the caller.
var errAnother = fault.New(fault.Denied, "SENDER_MISMATCH",
	"The API key says who you are, and the request names another agent; leave the name out or give your own.")

// own refuses a name that is not the caller's.
func (s *session) own(name *string) error {
	if name != nil && *name != "" && *name != s.caller.Agent {
		return errAnother
	}
	return nil
}

// schema returns the JSON Schema of the arguments.
func (a action) schema() json.RawMessage {
	var out strings.Builder
	out.WriteString(`{"type":"object","properties":{`)
	for i, p := range a.properties {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + p.name + `":{"type":"` + p.kind + `"}`)
	}
	out.WriteString(`},"additionalProperties":false`)
	if len(a.required) > 0 {
		out.WriteString(`,"required":["` + strings.Join(a.required, `","`) + `"]`)
	}
	out.WriteByte('}')
	return json.RawMessage(out.String())
}
