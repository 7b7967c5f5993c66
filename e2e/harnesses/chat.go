package harnesses

import (
	"encoding/json"
	"net/http"
)

// chatRequest is a request of OpenAI's chat completions, as far as the model reads it.
type chatRequest struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func readChat(request chatRequest) (c conversation) {
	for _, message := range request.Messages {
		switch message.Role {
		case "user":
			c.items = append(c.items, item{user: textOf(message.Content)})
		case "tool":
			c.items = append(c.items, item{call: message.ToolCallID, result: textOf(message.Content)})
		}
		for _, call := range message.ToolCalls {
			c.items = append(c.items, item{
				call: call.ID, tool: calledThrough(call.Function.Name, call.Function.Arguments), arguments: call.Function.Arguments,
			})
		}
	}
	for _, tool := range request.Tools {
		c.offered = append(c.offered, tool.Function.Name)
	}
	c.deferred()
	return c
}

func writeChat(w http.ResponseWriter, _ *http.Request, request chatRequest, next move) {
	said := object{"role": "assistant", "content": next.say}
	reason := "stop"
	if next.tool != "" {
		called := object{"name": next.tool, "arguments": encode(next.arguments)}
		said = object{"role": "assistant", "content": nil, "tool_calls": []object{
			{"index": 0, "id": newID("call"), "type": "function", "function": called},
		}}
		reason = "tool_calls"
	}
	usage := object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	id := newID("chatcmpl")
	if !request.Stream {
		sendObject(w, object{
			"id": id, "object": "chat.completion", "created": 1, "model": modelName, "usage": usage,
			"choices": []object{{"index": 0, "message": said, "finish_reason": reason}},
		})
		return
	}
	chunk := func(choice object) object {
		return object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": modelName, "choices": []object{choice}}
	}
	last := chunk(object{"index": 0, "delta": object{}, "finish_reason": reason})
	last["usage"] = usage
	send(w, chunk(object{"index": 0, "delta": said, "finish_reason": nil}), last, "[DONE]")
}
