package mcp

import (
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// written is what a tool sends: a payload, or a text that stands for one.
type written struct {
	Payload json.RawMessage `json:"payload"`
	Text    *string         `json:"text"`
}

// writtenProperties are the two arguments in a schema.
const writtenProperties = `"text":{"type":"string"},"payload":{"type":"object","description":"instead of text"}`

// payload returns the payload that the arguments say. text T stands for {"text": T}. Beside a text, an empty payload stands for none.
func (w written) payload() (*structpb.Struct, error) {
	if w.Text != nil && string(w.Payload) == "{}" {
		w.Payload = nil
	}
	switch {
	case w.Text != nil && len(w.Payload) > 0:
		return nil, fault.BadField("payload", "cannot stand beside text; give one of the two.")
	case w.Text != nil:
		return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(*w.Text)}}, nil
	case len(w.Payload) == 0:
		return nil, fault.BadField("text", "is missing; give text, or payload as a JSON object.")
	}
	payload, err := jsonvalue.ParseObject(w.Payload, "payload")
	if err != nil {
		return nil, err
	}
	return payload.Struct()
}
