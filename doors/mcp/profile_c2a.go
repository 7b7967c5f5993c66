package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors/c2a/chat"
)

// toolsOfC2A are the seven tools of the Chat-to-Agents protocol.
func toolsOfC2A() []tool {
	tools := make([]tool, 0, len(chat.Tools))
	for _, t := range chat.Tools {
		definition := &sdk.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Schema,
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: true},
		}
		tools = append(tools, tool{definition, func(ctx context.Context, s *session, given json.RawMessage) (any, error) {
			return t.Call(ctx, s.caller, given)
		}})
	}
	return tools
}
