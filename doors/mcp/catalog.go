package mcp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors"
)

// catalog lists the tools in the order in which a model meets them.
var catalog = []tool{whoami, channels, join, send, ask, reply, inbox, wait, read, mark, claim, presence}

// tool is one tool: what a model reads of it, and what it does.
type tool struct {
	definition *sdk.Tool
	// call carries out a call with the arguments that the model filled in. It returns what becomes the answer's JSON.
	call func(ctx context.Context, s *session, arguments json.RawMessage) (any, error)
}

// effect is what a tool does to what there is, as harnesses ask before they let a model call it. No tool reaches beyond the server.
type effect int

const (
	reads   effect = iota // it changes nothing but what is noted of the caller's own reading
	adds                  // it says or changes something of the caller's own, and destroys nothing
	repeats               // it adds, and to do it again adds nothing
	removes               // it ends something, which cannot be ended twice
)

func (e effect) annotations() *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{
		ReadOnlyHint: e == reads, DestructiveHint: new(e == removes), IdempotentHint: e != adds, OpenWorldHint: new(false),
	}
}

// cursorProperty is the argument that goes on where an answer ended. Every answer that can be gone on from has a cursor.
const cursorProperty = `"cursor":{"type":"string","description":"cursor of an answer, to go on after it"}`

// newTool makes a tool. properties is the inside of the schema's properties, in JSON; required names those that must be given. The
// arguments are decoded into an A, whose fields are the properties. Arguments that stand for nothing count as left out (tolerated_arguments.go).
func newTool[A any](
	does effect, name, description, properties string, required []string, call func(ctx context.Context, s *session, arguments A) (any, error),
) tool {
	schema := `{"type":"object","properties":{` + properties + `},"additionalProperties":false`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	definition := &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema + "}"), Annotations: does.annotations()}
	zeros := zeroMeansIn(properties)
	return tool{definition, func(ctx context.Context, s *session, given json.RawMessage) (any, error) {
		var arguments A
		given = zeros.filledIn(given)
		if err := doors.ReadArguments(name, given, required, &arguments); err != nil {
			return nil, err
		}
		answer, err := call(ctx, s, arguments)
		return answer, fields.Explain(err, given)
	}}
}
