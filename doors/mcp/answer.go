package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors"
)

// answered puts an answer into the protocol's form: one line of JSON as text, which every client shows its model.
func answered(answer any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: inJSON(answer)}}}
}

// refusedAnswer is what a model sees of a refusal.
type refusedAnswer struct {
	Refused string            `json:"refused"`
	Message string            `json:"message"`
	Facts   map[string]string `json:"facts,omitempty"`
	RetryIn float64           `json:"retry_in_s,omitempty"`
}

// refused puts a refusal into the protocol's form: a result that is marked as an error, so that the model sees it and can do better.
func refused(err error) *sdk.CallToolResult {
	var own ownRefusal
	if errors.As(err, &own) {
		result := answered(own.answer)
		result.IsError = true
		return result
	}
	refusal := doors.RefusalOf(err)
	result := answered(refusedAnswer{refusal.Reason, refusal.Message, refusal.Facts, refusal.RetryAfter.Round(time.Millisecond).Seconds()})
	result.IsError = true
	return result
}

// inJSON writes a value as one line. It escapes no < and >, which would only cost tokens.
func inJSON(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return `{"refused":"INTERNAL","message":"The answer could not be written."}`
	}
	return string(bytes.TrimRight(out.Bytes(), "\n"))
}
