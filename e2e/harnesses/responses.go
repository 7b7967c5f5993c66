package harnesses

import (
	"encoding/json"
	"net/http"
)

// responsesRequest is a request of OpenAI's responses, as far as the model reads it.
type responsesRequest struct {
	Input []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Name      string          `json:"name"`
		Namespace string          `json:"namespace"`
		CallID    string          `json:"call_id"`
		Output    json.RawMessage `json:"output"`
	} `json:"input"`
	Tools []responsesTool `json:"tools"`
}

// responsesTool is a tool, or a namespace with the tools of one server.
type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"`
}

// inNamespace stands between the names of a namespace and of a tool in it, which a call gives apart.
const inNamespace = "/"

func readResponses(request responsesRequest) (c conversation) {
	for _, input := range request.Input {
		switch {
		case input.Type == "function_call":
			name := input.Name
			if input.Namespace != "" {
				name = input.Namespace + inNamespace + name
			}
			c.items = append(c.items, item{call: input.CallID, tool: name})
		case input.Type == "function_call_output":
			c.items = append(c.items, item{call: input.CallID, result: textOf(input.Output)})
		case input.Role == "user":
			c.items = append(c.items, item{user: textOf(input.Content)})
		}
	}
	for _, tool := range request.Tools {
		if tool.Type != "namespace" {
			c.offered = append(c.offered, tool.Name)
		}
		for _, member := range tool.Tools {
			c.offered = append(c.offered, tool.Name+inNamespace+member.Name)
		}
	}
	return c
}

func writeResponses(w http.ResponseWriter, _ *http.Request, _ responsesRequest, next move) {
	said := object{
		"type": "message", "id": newID("item"), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": next.say, "annotations": []any{}}},
	}
	if next.tool != "" {
		said = object{
			"type": "function_call", "id": newID("item"), "call_id": newID("call"), "status": "completed",
			"name": next.tool, "arguments": encode(next.arguments),
		}
		if namespace, name, found := cutLast(next.tool, inNamespace); found {
			said["namespace"], said["name"] = namespace, name
		}
	}
	response := object{
		"id": newID("resp"), "object": "response", "created_at": 1, "model": modelName, "status": "in_progress", "output": []any{},
	}
	completed := object{
		"id": response["id"], "object": "response", "created_at": 1, "model": modelName, "status": "completed", "output": []any{said},
		"usage": object{
			"input_tokens": 1, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 1, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 2,
		},
	}
	send(w,
		object{"type": "response.created", "sequence_number": 0, "response": response},
		object{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": said},
		object{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": said},
		object{"type": "response.completed", "sequence_number": 3, "response": completed})
}
