package harnesses

import (
	"encoding/json"
	"net/http"
	"strings"
)

// geminiRequest is a request of Gemini's generateContent, as far as the model reads it.
type geminiRequest struct {
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text         string `json:"text"`
			FunctionCall *struct {
				Name string `json:"name"`
			} `json:"functionCall"`
			FunctionResponse *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

// readGemini pairs each result with the call before it, because the model makes one call at a time and calls need no ids.
func readGemini(request geminiRequest) (c conversation) {
	for _, content := range request.Contents {
		for _, part := range content.Parts {
			switch {
			case part.FunctionCall != nil:
				c.items = append(c.items, item{call: "the last", tool: part.FunctionCall.Name})
			case part.FunctionResponse != nil:
				c.items = append(c.items, item{call: "the last", result: string(part.FunctionResponse.Response)})
			case content.Role == "user":
				c.items = append(c.items, item{user: part.Text})
			}
		}
	}
	for _, tools := range request.Tools {
		for _, tool := range tools.FunctionDeclarations {
			c.offered = append(c.offered, tool.Name)
		}
	}
	return c
}

func writeGemini(w http.ResponseWriter, r *http.Request, _ geminiRequest, next move) {
	part := object{"text": next.say}
	if next.tool != "" {
		part = object{"functionCall": object{"name": next.tool, "args": next.arguments}}
	}
	answer := object{
		"candidates": []object{{
			"index": 0, "content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP",
		}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
		"modelVersion":  modelName,
	}
	switch _, call, _ := strings.Cut(r.PathValue("call"), ":"); call {
	case "streamGenerateContent":
		send(w, answer)
	case "generateContent":
		sendObject(w, answer)
	default: // countTokens
		sendObject(w, object{"totalTokens": 1})
	}
}
