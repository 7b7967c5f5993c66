package repomesh

import (
	"context"
	"encoding/json"
	"strings"

	"openintent/doors"
	"openintent/internal/fault"
)

// action is something that an agent can do: a tool over MCP, and a route over REST.
type action struct {
	name        string
	description string
	properties  []property
	required    []string
	run         func(ctx context.Context, s *session, given json.RawMessage) (any, error)
	// callers are the arguments that name the caller, first the one that counts. authored says that the payload may do so, too. Where
	// neither does, the nameless operator acts if the action is nameless, and is refused otherwise.
	callers            []string
	authored, nameless bool
}

// anyone lets the nameless operator carry out the action: none of its arguments has to name an agent.
func (a action) anyone() action {
	a.nameless = true
	return a
}

// by says which arguments name the caller.
func (a action) by(callers ...string) action {
	a.callers = callers
	return a
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
	return action{
		name: name, description: description, properties: properties, required: required, callers: []string{"agent_id"},
		run: func(ctx context.Context, s *session, given json.RawMessage) (any, error) {
			var arguments A
			if err := doors.ReadArguments(name, given, required, &arguments); err != nil {
				return nil, err
			}
			answer, err := run(ctx, s, arguments)
			return answer, fields.Explain(err, given)
		},
	}
}

// repeats is what the arguments of every action may say: how often the caller has tried before (see retriesIn).
type repeats struct {
	Retries int `json:"retry_count"`
}

// repository is how the reference's clients name the repository. A mesh is for one, so it changes nothing.
type repository struct {
	RepoID *string `json:"repo_id"`
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

// signed says that the payload names its author, who is the caller.
func (a action) signed() action {
	a.authored = true
	return a
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
