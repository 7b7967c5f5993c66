package c2a

import (
	"context"
	"encoding/json"
	"time"

	"openintent/doors"
	"openintent/doors/c2a/chat"
)

// listedTool is a tool as tools/list has it.
type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations toolAnnotations `json:"annotations"`
}

// toolAnnotations say what a repeated call does. Every tool may be repeated.
type toolAnnotations struct {
	ReadOnly   bool `json:"readOnlyHint"`
	Idempotent bool `json:"idempotentHint"`
}

type listedTools struct {
	Tools []listedTool `json:"tools"`
}

func listTools() listedTools {
	list := listedTools{make([]listedTool, 0, len(chat.Tools))}
	for _, t := range chat.Tools {
		list.Tools = append(list.Tools, listedTool{t.Name, t.Description, t.Schema, toolAnnotations{t.ReadOnly, true}})
	}
	return list
}

// toolResult is what a tool says. A refusal is a result too, marked as an error, so that the model sees it.
type toolResult struct {
	Content []chat.Part `json:"content"`
	// StructuredContent is the same as the text, as an object.
	StructuredContent any  `json:"structuredContent"`
	IsError           bool `json:"isError"`
}

// refusedTool is what a model sees of a refusal.
type refusedTool struct {
	Refused string            `json:"refused"`
	Message string            `json:"message"`
	Facts   map[string]string `json:"facts,omitempty"`
	RetryMS int64             `json:"retryAfterMs,omitempty"`
}

var errNoTool = newError(codeInvalidParams, "TOOL_UNKNOWN", "This door has no such tool; tools/list has those that there are.")

// callTool carries out a call of a tool.
func (c *connection) callTool(ctx context.Context, given json.RawMessage) (any, *rpcError) {
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(given, &call) != nil {
		return nil, newError(codeInvalidParams, "INVALID_FIELD", "params: must be an object with name and arguments.")
	}
	for _, t := range chat.Tools {
		if t.Name == call.Name {
			answer, err := t.Call(ctx, c.caller, call.Arguments)
			return c.resultOf(ctx, t.Name, answer, err), nil
		}
	}
	return nil, errNoTool
}

// resultOf puts what a tool answered, or why it did not, into the protocol's form.
func (c *connection) resultOf(ctx context.Context, tool string, answer any, err error) toolResult {
	if err == nil {
		var text []byte
		if text, err = encode(answer); err == nil {
			return toolResult{Content: []chat.Part{chat.TextPart(string(text))}, StructuredContent: answer}
		}
	}
	c.failed(ctx, "tool", tool, err)
	refusal := doors.RefusalOf(err)
	said := refusedTool{refusal.Reason, refusal.Message, refusal.Facts, refusal.RetryAfter.Round(time.Millisecond).Milliseconds()}
	text, _ := encode(said) // texts and a number always have a form in JSON
	return toolResult{Content: []chat.Part{chat.TextPart(string(text))}, StructuredContent: said, IsError: true}
}
